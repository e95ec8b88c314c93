# SPDX-License-Identifier: BSD-3-Clause
"""What a program that uses Talaria is doing, for gdb; also with a core file:

  (gdb) source PREFIX/share/talaria/gdb/talaria.py
  (gdb) talaria                contexts on the stacks of all threads
  (gdb) talaria EXPRESSION     an hg_context_t * or an hg_handle_t
  (gdb) talaria -a …           with the peers' addresses, by a call of
                               HG_Addr_to_string in the stopped process

For each context its transports, its handles in use with their RPC, peer and
pending operations, and its transfers. Needs the debug information of libtalaria.
"""

import gdb

# Bits of the word of a call, in the order of core/hg/call.h.
PHASE = ((0x1, 'send pending'), (0x2, 'receive pending'),
         (0x4, 'callback not run'), (0x8, 'completed early'),
         (0x10, 'to be answered'), (0x20, 'answered'),
         (0x40, 'cancel asked for'))
NAME_SIZE = 256
# Where structs point to their context. A thread that sleeps in HG_Progress may
# have the last alone.
CONTEXT_OF = {'hg_context': '', 'hg_handle': 'context', 'na_progress': 'fail_arg'}


def each(first, link):
    while first:
        yield first.dereference()
        first = first[link]['le_next']


def enum_name(kind, prefix, number):
    for field in gdb.lookup_type(kind).fields():
        if field.enumval == number:
            return field.name.removeprefix(prefix).lower()
    return str(number)


def text_of(value):
    return value.string(errors='replace') if value else None


def called_address_of(hg_class, peer):
    """What HG_Addr_to_string in the stopped process says."""
    buffer = int(gdb.parse_and_eval(f'((void *(*)(unsigned long)) malloc)({NAME_SIZE + 8})'))
    gdb.execute(f'set var *(unsigned long *) {buffer} = {NAME_SIZE}')
    ret = int(gdb.parse_and_eval(
        f'(int) HG_Addr_to_string((struct hg_class *) {int(hg_class)}, '
        f'(char *) {buffer + 8}, (unsigned long *) {buffer}, '
        f'(struct hg_addr *) {int(peer.address)})'))
    text = gdb.Value(buffer + 8).cast(gdb.lookup_type('char').pointer())
    words = text.string(errors='replace') if ret == 0 else f'error {ret}'
    gdb.parse_and_eval(f'((void (*)(void *)) free)((void *) {buffer})')
    return words


def address_of(hg_class, peer, call):
    """The peer's address as far as it is known here."""
    if not peer['addr']:
        return 'nobody'
    if peer['name']:
        return peer['name']['text'].string(errors='replace')
    if not call:
        return f'peer {peer["addr"]}'
    try:
        return called_address_of(hg_class, peer)
    except gdb.error as error:  # e.g. a kernel that gdb cannot set registers of
        return f'peer {peer["addr"]} (gdb cannot call functions: {error})'


def print_handle(handle, call):
    rpc = handle['rpc']
    name = text_of(rpc['name']) or hex(int(rpc['id'])) if rpc else 'no RPC'
    word = int(handle['call']['word'])
    role = enum_name('enum hg_role', 'HG_ROLE_', int(handle['role']))
    peer = address_of(handle['context']['hg_class'], handle['peer'], call)
    phase = [words for bit, words in PHASE if word & bit] or ['idle']
    print(f'  handle {handle.address} {role} of {name}, '
          f'{"to" if role == "origin" else "from"} {peer}')
    print(f'    {", ".join(phase)}; tag {int(handle["tag"]):#x}, '
          f'cookie {int(handle["cookie"])}, references {int(handle["refs"]):#x}'
          + (f', timeout {int(handle["timeout_ms"])} ms'
             if handle['timeout_ms'] else ''))


def print_transfer(op, context, call):
    peer = address_of(context['hg_class'], op['addr'], call)
    print(f'  transfer {op.address} {op["op"]} with {peer}: {int(op["left"])} of '
          f'{int(op["size"])} bytes left, {int(op["busy"])} operations pending')


def print_context(context, call):
    ways = []
    for i in range(int(context['port_count'])):
        na_context = context['ports'][i]['na_context']
        na_class = na_context['na_class']
        ways.append(f'{text_of(na_class["plugin"]["name"])}+'
                    f'{text_of(na_class["protocol"])} id {int(na_context["id"])}'
                    + (', dead' if int(na_context['dead']) else ''))
    print(f'context {context.address}: {"; ".join(ways)}')
    counts, used = {}, []
    for handle in each(context['handles']['lh_first'], 'all_next'):
        state = enum_name('enum hg_handle_state', 'HG_HANDLE_', int(handle['state']))
        counts[state] = counts.get(state, 0) + 1
        if state == 'used':
            used.append(handle)
    print('  handles: ' + (', '.join(f'{n} {state}' for state, n in
                                     sorted(counts.items())) or 'none')
          + f'; completions to trigger: {int(context["bulk"]["completions"]["count"])}')
    for handle in used:
        print_handle(handle, call)
    for op in each(context['bulk']['all_ops']['lh_first'], 'all_next'):
        if op['busy']:
            print_transfer(op, context, call)


def contexts_of(frame):
    """Addresses of contexts that a frame's variables lead to."""
    try:
        block = frame.block()
    except RuntimeError:  # no debug information
        return
    while block and not block.is_global:
        for symbol in block:
            if not (symbol.is_variable or symbol.is_argument):
                continue
            kind = symbol.type.strip_typedefs()
            if kind.code != gdb.TYPE_CODE_PTR:
                continue
            name = kind.target().strip_typedefs().unqualified().name
            member = CONTEXT_OF.get(name)
            value = symbol.value(frame) if member is not None else None
            if value is None or value.is_optimized_out or not value:
                continue
            try:
                context = int(value[member] if member else value)
            except gdb.MemoryError:  # not set yet
                continue
            if context:
                yield context
        block = block.superblock


def all_contexts():
    found, selected = {}, gdb.selected_thread()
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda it: it.num):
        thread.switch()
        frame = gdb.newest_frame()
        while frame:
            for address in contexts_of(frame):
                found.setdefault(address, (thread.num, frame.name()))
            frame = frame.older()
    selected.switch()
    return found


class Talaria(gdb.Command):
    """Prints contexts, handles, peers and pending operations of Talaria.
talaria [-a] [EXPRESSION]: of all contexts on the stacks of threads, or of one
hg_context_t * or hg_handle_t. -a: addresses, by calls in the process."""

    def __init__(self):
        super().__init__('talaria', gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, from_tty):
        call = argument.split()[:1] == ['-a']
        argument = argument.strip()[2:] if call else argument
        if not gdb.selected_inferior().pid:
            raise gdb.GdbError('nothing runs, and there is no core file')
        try:
            kind = gdb.lookup_type('struct hg_context').pointer()
        except gdb.error as error:
            raise gdb.GdbError('no debug information of libtalaria') from error
        if argument.strip():
            value = gdb.parse_and_eval(argument)
            what = value.type.strip_typedefs()
            if what.code != gdb.TYPE_CODE_PTR or not value:
                raise gdb.GdbError('neither a context nor a handle')
            if what.target().strip_typedefs().name == 'hg_handle':
                print_handle(value.dereference(), call)
            else:
                print_context(value.cast(kind).dereference(), call)
            return
        found = all_contexts()
        if not found:
            raise gdb.GdbError('no context on the stacks of the threads: '
                               'talaria EXPRESSION')
        for address, (thread, frame) in found.items():
            print(f'thread {thread}, in {frame}:')
            print_context(gdb.Value(address).cast(kind).dereference(), call)


Talaria()

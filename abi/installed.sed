# SPDX-License-Identifier: BSD-3-Clause
# The pages as they are installed: a link leads to the file that is there, and
# what is in the source tree only stays as its name.
s|\[README\.md\](README\.md)|[transport-abi.md](transport-abi.md)|g
s|\[growth\.md\](growth\.md)|[transport-abi-growth.md](transport-abi-growth.md)|g
s| (installed as transport-abi-growth\.md)||
s|\[\([^]]*\)\](\.\./[^)]*)|`\1`|g

/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and sizes as text. */
#include "copy/text.h"

/* Returns the length of a printable UTF-8 character at s, or 0. */
static size_t
utf8_length(const unsigned char *s)
{
    static const uint32_t least[] = {0, 0, 0xa0, 0x800, 0x10000};
    size_t length;
    uint32_t c;

    if (s[0] < 0xc2 || s[0] > 0xf4)
        return 0;
    length = s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    c = s[0] & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3fu);
    }
    /* Excludes C1 control characters (below U+00A0) and bidirectional controls
     * (U+202A to U+202E, U+2066 to U+2069). */
    if (c < least[length] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ||
        (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
        return 0;
    return length;
}

void
copy_text_name(FILE *stream, const char *name)
{
    const unsigned char *s = (const unsigned char *) name;

    while (*s != 0) {
        size_t length =
            *s >= 0x20 && *s < 0x7f && *s != '\\' ? 1 : utf8_length(s);
        if (length == 0) {
            fprintf(stream, "\\x%02x", *s);
            length = 1;
        } else {
            fwrite(s, 1, length, stream);
        }
        s += length;
    }
}

void
copy_text_bytes(char *text, size_t size, uint64_t bytes)
{
    static const char *const units[] = {
        "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double) bytes;
    size_t unit = 0;

    while (value >= 1000 && unit < sizeof(units) / sizeof(units[0]) - 1) {
        value /= 1024;
        unit++;
    }
    snprintf(text, size, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
}

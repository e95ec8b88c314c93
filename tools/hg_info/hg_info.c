/* SPDX-License-Identifier: BSD-3-Clause */
/* hg_info, compatible with Mercury's: lists the protocols and devices of the
 * plugins, by the public interface only. */
#include "common/output.h"
#include "common/tool.h"
#include "mercury.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON };

static const struct option options[] = {
    {"help", no_argument, NULL, 'h'},
    {"csv", no_argument, NULL, 'c'},
    {"json", no_argument, NULL, 'j'},
    {NULL, 0, NULL, 0},
};

/* As Mercury's: always to standard output, always an error. */
static int
print_usage(const char *program)
{
    printf("usage: %s [OPTIONS] [<class+protocol>]\n"
           "    OPTIONS\n"
           "    -h, --help           Print this text and exit\n"
           "    -c, --csv            Print comma-separated values\n"
           "    -j, --json           Print JSON\n",
        program);
    return TOOL_FAILED;
}

static void
print_table(const struct na_protocol_info *list)
{
    static const char rule[] =
        "--------------------------------------------------";

    printf(
        "%s\n%-10s %19s %19s\n%s\n", rule, "Class", "Protocol", "Device", rule);
    for (; list; list = list->next)
        printf("%-10s %19s %19s\n", list->class_name, list->protocol_name,
            list->device_name);
}

static void
print_csv(const struct na_protocol_info *list)
{
    puts("class,protocol,device");
    for (; list; list = list->next) {
        output_csv_text(stdout, list->class_name);
        putchar(',');
        output_csv_text(stdout, list->protocol_name);
        putchar(',');
        output_csv_text(stdout, list->device_name);
        putchar('\n');
    }
}

static int
print_json(const struct na_protocol_info *list)
{
    json_t *protocols = json_array();

    for (; list; list = list->next)
        output_json_append(
            &protocols, json_pack("{s:o, s:o, s:o}", "class",
                            output_json_text(list->class_name), "protocol",
                            output_json_text(list->protocol_name), "device",
                            output_json_text(list->device_name)));
    return output_json(json_pack("{s:o}", "protocols", protocols));
}

static int
list(const char *info_string, enum format format)
{
    struct na_protocol_info *found = NULL;
    hg_return_t ret;
    int result = TOOL_OK;

    /* Programs parse the whole output as JSON. */
    if (format != FORMAT_JSON) {
        if (info_string)
            printf("# Protocols of \"%s\"\n", info_string);
        else
            puts("# Protocols of every class");
    }
    ret = HG_Get_na_protocol_info(info_string, &found);
    if (ret == HG_SUCCESS && !found)
        ret = HG_PROTONOSUPPORT;
    if (ret != HG_SUCCESS) {
        fprintf(stderr, "hg_info: no protocol found for \"%s\": %s\n",
            info_string ? info_string : "", HG_Error_to_string(ret));
        return TOOL_FAILED;
    }
    switch (format) {
    case FORMAT_TABLE:
        print_table(found);
        break;
    case FORMAT_CSV:
        print_csv(found);
        break;
    case FORMAT_JSON:
        result = print_json(found);
        break;
    }
    HG_Free_na_protocol_info(found);
    return result;
}

int
main(int argc, char **argv)
{
    enum format format = FORMAT_TABLE;
    int option;

    while ((option = getopt_long(argc, argv, "hcj", options, NULL)) != -1)
        switch (option) {
        case 'c':
            format = FORMAT_CSV;
            break;
        case 'j':
            format = FORMAT_JSON;
            break;
        default:
            return print_usage(argv[0]);
        }
    if (argc - optind > 1)
        return print_usage(argv[0]);
    return list(argv[optind], format);
}

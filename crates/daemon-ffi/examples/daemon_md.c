/* Prints what each function of the library returns for a daemon file: daemon_md FILE */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_md.h"

/* Prints a result and frees it. */
static void show(const char *name, char *result) {
    printf("%s %s\n", name, result);
    daemon_md_free(result);
}

/* Reads a file; the caller frees the result. Returns NULL if it cannot be read. */
static char *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    char *text = malloc(256 * 1024);
    *length = 0;
    if (file != NULL && text != NULL) {
        *length = fread(text, 1, 256 * 1024, file);
    }
    if (file == NULL || text == NULL || ferror(file)) {
        free(text);
        text = NULL;
    }
    if (file != NULL) {
        fclose(file);
    }
    return text;
}

int main(int argc, char **argv) {
    size_t length;
    char *text = argc == 2 ? read_file(argv[1], &length) : NULL;
    if (text == NULL) {
        fprintf(stderr, "usage: daemon_md FILE\n");
        return 64;
    }
    printf("version %s\n", daemon_md_version());
    show("parse", daemon_md_parse(text, length));
    show("lint", daemon_md_lint(text, length, ".agents/daemons/tidy/DAEMON.md", "strict", NULL));
    show("interpret", daemon_md_interpret("when a pull request is opened by a bot"));
    show("next", daemon_md_next("30 14 * * 1-5", "Europe/Berlin", "2026-11-21T00:00:00Z", 2));
    show("refused", daemon_md_next("0 30 14 * * 1-5", NULL, NULL, 1));
    free(text);
    return 0;
}

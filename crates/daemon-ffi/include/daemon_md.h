/*
 * Reads, checks and interprets DAEMON.md files, and computes the ticks of their schedules.
 *
 * Every function that returns `char *` returns one JSON object as a NUL-terminated string in UTF-8, never NULL. The caller owns
 * it and frees it with `daemon_md_free`. Arguments are only read during the call. All functions may be called from several
 * threads at once. The documentation of the crate `daemon-ffi` describes the objects.
 */

#ifndef DAEMON_MD_H
#define DAEMON_MD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/*
 Parses the text of a daemon file. Returns its fields with their places, and what cannot be read as diagnostics.

 # Safety

 `text` points to `length` bytes, or is NULL and `length` is 0.
 */
char *daemon_md_parse(const char *text, size_t length);

/*
 Checks the text of a daemon file. Returns the report of `daemon-lint --format json`.

 `path` is the path of the file from the root of its repository, with `/` between its parts; NULL turns rules about the place
 of the file off. `profile` is `spec` or `strict`, NULL is `spec`. `zone` is the IANA name of the zone of the schedule, NULL is
 UTC. No file is read.

 # Safety

 `text` points to `length` bytes, or is NULL and `length` is 0. The other pointers are NULL or NUL-terminated strings.
 */
char *daemon_md_lint(const char *text,
                     size_t length,
                     const char *path,
                     const char *profile,
                     const char *zone);

/*
 Interprets a watch condition. Returns the events, the filters and the words that were not understood.

 # Safety

 `condition` is a NUL-terminated string.
 */
char *daemon_md_interpret(const char *condition);

/*
 Computes the next `count` ticks of a five-field cron expression, strictly later than `from`.

 `zone` is an IANA name, NULL is UTC. `from` is an instant in RFC 3339, NULL is the current time. `count` is at most 10000.

 # Safety

 `expression` is a NUL-terminated string. The other pointers are NULL or NUL-terminated strings.
 */
char *daemon_md_next(const char *expression,
                     const char *zone,
                     const char *from,
                     uint32_t count);

/*
 Returns the version of the library. The string is static and must not be freed.
 */
const char *daemon_md_version(void);

/*
 Frees a result of this library. NULL is ignored.

 # Safety

 `result` is NULL or was returned by `daemon_md_parse`, `daemon_md_lint`, `daemon_md_interpret` or `daemon_md_next`, and has
 not been freed.
 */
void daemon_md_free(char *result);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DAEMON_MD_H */

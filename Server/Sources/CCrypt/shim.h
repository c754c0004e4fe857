#include <crypt.h>
#include <stdlib.h>
#include <string.h>

/* crypt_r in memory of its own, 32 KiB that are too large an array for Swift to see and are overwritten at the end. Writes
   what it answers into `output` and returns 0; returns -1 where the setting is not one that the library knows, or there is
   no memory. */
static inline int countersign_crypt(const char *phrase, const char *setting, char *output, size_t size) {
    struct crypt_data *data = calloc(1, sizeof *data);
    if (data == NULL) return -1;
    int status = -1;
    const char *text = crypt_r(phrase, setting, data);
    if (text != NULL && text[0] != '*' && strlen(text) < size) {
        memcpy(output, text, strlen(text) + 1);
        status = 0;
    }
    explicit_bzero(data, sizeof *data);
    free(data);
    return status;
}

#include <secp256k1.h>

/* The library's own context for public data: constant, and without a secret. A function, because Swift takes a global
   variable of C for one that any thread may change. */
static inline const secp256k1_context *countersign_secp256k1_context(void) { return secp256k1_context_static; }

#include <sqlite3.h>

/* Has the library keep no account of the memory that it uses: with one, each of its allocations takes a lock that all its
   connections share. SQLITE_OK, or SQLITE_MISUSE where the library is in use already. A function, because Swift cannot call
   one of C with arguments of any number. */
static inline int countersign_sqlite_without_memory_account(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

/* Has a connection leave the log as it is when it is the last that closes. SQLITE_OK, or what is wrong. */
static inline int countersign_sqlite_without_last_checkpoint(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

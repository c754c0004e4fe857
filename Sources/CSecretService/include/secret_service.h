/// A key in the Secret Service of the person's session (freedesktop.org, Secret Service API 0.2), by libsecret.
///
/// libsecret is looked for when a call is made first: a program needs it neither to be built nor to run. Everything blocks,
/// and belongs on a thread that may: never on one that others wait for.
#ifndef SECRET_SERVICE_H
#define SECRET_SERVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// How long a key is.
#define SECRET_SERVICE_KEY_LENGTH 32

/// How a call ended.
typedef enum {
    /// It did what it was asked for.
    SECRET_SERVICE_DONE = 0,
    /// Every keyring that could have the key is open, and none has it.
    SECRET_SERVICE_NO_KEY,
    /// A keyring is locked or not made yet, and the person was not asked, or did not open it.
    SECRET_SERVICE_LOCKED,
    /// There is something of that name which is no key, or several keys.
    SECRET_SERVICE_CORRUPT,
    /// No library, no session bus, or nobody on it who keeps secrets.
    SECRET_SERVICE_UNSUPPORTED,
    /// Another thread has cancelled the call.
    SECRET_SERVICE_CANCELLED,
    /// The bus or the service failed.
    SECRET_SERVICE_FAILED,
} secret_service_result;

/// A call: what another thread cancels it by, and why it failed.
typedef struct secret_service_call secret_service_call;

/// Makes a call. It is given back with `secret_service_call_free`. NULL where memory is gone.
secret_service_call *secret_service_call_new(void);

/// Ends what the call waits for, from any thread, and for good.
void secret_service_call_cancel(secret_service_call *call);

/// Why the call failed, in the library's words, without anything that is kept. Read it on the call's own thread.
const char *secret_service_call_reason(const secret_service_call *call);

/// Frees a call that nobody uses any more.
void secret_service_call_free(secret_service_call *call);

/// Reads the key of that application into `key`, which is written where the result is `SECRET_SERVICE_DONE` and only there.
///
/// @param may_ask Whether the service may show the person a dialog for unlocking.
secret_service_result secret_service_read_key(
    secret_service_call *call, const char *application, bool may_ask, uint8_t key[SECRET_SERVICE_KEY_LENGTH]);

/// Keeps a key under that application in the default keyring, which shows it to the person under `label`. One process at a
/// time is to do so, where there is no key: an earlier one stays beside it.
secret_service_result secret_service_create_key(
    secret_service_call *call, const char *application, const char *label, bool may_ask,
    const uint8_t key[SECRET_SERVICE_KEY_LENGTH]);

#endif

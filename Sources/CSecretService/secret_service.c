#include "secret_service.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// What of GLib's and libsecret's interfaces is used here. Both promise them for the library's whole life under this name
// (libsecret-1.so.0), so they need no headers.

typedef struct {
    uint32_t domain;
    int code;
    char *message;
} error;

typedef struct list {
    void *data;
    struct list *next;
    struct list *previous;
} list;

enum {
    SESSION_BUS = 2,
    OPEN_SESSION = 1 << 1,
    SEARCH_ALL = 1 << 1,
    SEARCH_UNLOCK = 1 << 2,
    SEARCH_LOAD_SECRETS = 1 << 3,
    COLLECTION_NONE = 0,
    CREATE_NONE = 0,
};

static struct {
    // GLib
    void (*g_error_free)(error *);
    void (*g_free)(void *);
    void (*g_object_unref)(void *);
    void (*g_list_free_full)(list *, void (*)(void *));
    void *(*g_hash_table_new)(unsigned (*)(const void *), int (*)(const void *, const void *));
    int (*g_hash_table_insert)(void *, const void *, const void *);
    void (*g_hash_table_unref)(void *);
    unsigned (*g_str_hash)(const void *);
    int (*g_str_equal)(const void *, const void *);
    void *(*g_cancellable_new)(void);
    void (*g_cancellable_cancel)(void *);
    int (*g_cancellable_is_cancelled)(void *);
    void *(*g_bus_get_sync)(int, void *, error **);
    void (*g_dbus_connection_set_exit_on_close)(void *, int);
    char *(*g_dbus_error_get_remote_error)(const error *);
    // libsecret
    size_t (*secret_service_get_type)(void);
    void *(*secret_service_open_sync)(size_t, const char *, int, void *, error **);
    list *(*secret_service_search_sync)(void *, const void *, void *, int, void *, error **);
    int (*secret_service_unlock_sync)(void *, list *, void *, list **, error **);
    void *(*secret_collection_for_alias_sync)(void *, const char *, int, void *, error **);
    void *(*secret_collection_create_sync)(void *, const char *, const char *, int, void *, error **);
    int (*secret_collection_get_locked)(void *);
    void *(*secret_item_create_sync)(void *, const void *, void *, const char *, void *, int, void *, error **);
    int (*secret_item_get_locked)(void *);
    void *(*secret_item_get_secret)(void *);
    void *(*secret_value_new)(const char *, ptrdiff_t, const char *);
    const char *(*secret_value_get)(void *, size_t *);
    void (*secret_value_unref)(void *);
} library;

static bool is_loaded = false;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    // Types of GLib stay for the life of a process, so the library is never taken away again.
    void *handle = dlopen("libsecret-1.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) return;
// A symbol is found in the libraries that the opened one needs, too. POSIX has functions come as pointers to data.
#define FIND(name) \
    if ((*(void **)&library.name = dlsym(handle, #name)) == NULL) return
    FIND(g_error_free);
    FIND(g_free);
    FIND(g_object_unref);
    FIND(g_list_free_full);
    FIND(g_hash_table_new);
    FIND(g_hash_table_insert);
    FIND(g_hash_table_unref);
    FIND(g_str_hash);
    FIND(g_str_equal);
    FIND(g_cancellable_new);
    FIND(g_cancellable_cancel);
    FIND(g_cancellable_is_cancelled);
    FIND(g_bus_get_sync);
    FIND(g_dbus_connection_set_exit_on_close);
    FIND(g_dbus_error_get_remote_error);
    FIND(secret_service_get_type);
    FIND(secret_service_open_sync);
    FIND(secret_service_search_sync);
    FIND(secret_service_unlock_sync);
    FIND(secret_collection_for_alias_sync);
    FIND(secret_collection_create_sync);
    FIND(secret_collection_get_locked);
    FIND(secret_item_create_sync);
    FIND(secret_item_get_locked);
    FIND(secret_item_get_secret);
    FIND(secret_value_new);
    FIND(secret_value_get);
    FIND(secret_value_unref);
#undef FIND
    is_loaded = true;
}

struct secret_service_call {
    // NULL without the library.
    void *cancellable;
    char reason[256];
};

secret_service_call *secret_service_call_new(void)
{
    pthread_once(&once, load);
    secret_service_call *call = calloc(1, sizeof *call);
    if (call != NULL && is_loaded) call->cancellable = library.g_cancellable_new();
    return call;
}

void secret_service_call_cancel(secret_service_call *call)
{
    if (call->cancellable != NULL) library.g_cancellable_cancel(call->cancellable);
}

const char *secret_service_call_reason(const secret_service_call *call) { return call->reason; }

void secret_service_call_free(secret_service_call *call)
{
    if (call->cancellable != NULL) library.g_object_unref(call->cancellable);
    free(call);
}

static secret_service_result ended(secret_service_call *call, secret_service_result result, const char *reason)
{
    snprintf(call->reason, sizeof call->reason, "%s", reason);
    return result;
}

// What an error of the library means; it is freed.
static secret_service_result failed(secret_service_call *call, error *failure)
{
    if (failure == NULL) return ended(call, SECRET_SERVICE_FAILED, "no answer");
    secret_service_result result = SECRET_SERVICE_FAILED;
    char *name = library.g_dbus_error_get_remote_error(failure);
    if (library.g_cancellable_is_cancelled(call->cancellable)) {
        result = SECRET_SERVICE_CANCELLED;
    } else if (name != NULL) {
        // Nobody on the bus has the name, and nobody can be started who would.
        const char *const absent[] = {
            "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner",
            "org.freedesktop.DBus.Error.Spawn."};
        for (size_t index = 0; index < sizeof absent / sizeof *absent; index++)
            if (strncmp(name, absent[index], strlen(absent[index])) == 0) result = SECRET_SERVICE_UNSUPPORTED;
        if (strcmp(name, "org.freedesktop.Secret.Error.IsLocked") == 0) result = SECRET_SERVICE_LOCKED;
    }
    ended(call, result, failure->message);
    library.g_free(name);
    library.g_error_free(failure);
    return result;
}

// GLib would start a bus of its own where it finds none and has a display, and nobody would keep secrets on that.
static bool has_session_bus(void)
{
    const char *address = getenv("DBUS_SESSION_BUS_ADDRESS");
    if (address != NULL) return *address != '\0';
    const char *folder = getenv("XDG_RUNTIME_DIR");
    if (folder == NULL || *folder == '\0') return false;
    char path[4096];
    struct stat status;
    int length = snprintf(path, sizeof path, "%s/bus", folder);
    return length > 0 && (size_t)length < sizeof path && stat(path, &status) == 0 && S_ISSOCK(status.st_mode);
}

// A connection to the service, whose secrets go encrypted over the bus.
static secret_service_result open_service(secret_service_call *call, void **service)
{
    if (!is_loaded) return ended(call, SECRET_SERVICE_UNSUPPORTED, "libsecret-1.so.0 is not on this machine");
    if (!has_session_bus()) return ended(call, SECRET_SERVICE_UNSUPPORTED, "there is no session bus");
    error *failure = NULL;
    void *bus = library.g_bus_get_sync(SESSION_BUS, call->cancellable, &failure);
    if (bus == NULL) {
        secret_service_result result = failed(call, failure);
        return result == SECRET_SERVICE_CANCELLED ? result : SECRET_SERVICE_UNSUPPORTED;
    }
    // Unless it is told otherwise GLib kills the process when the bus goes: a program of the terminal outlives its session.
    library.g_dbus_connection_set_exit_on_close(bus, 0);
    *service = library.secret_service_open_sync(
        library.secret_service_get_type(), NULL, OPEN_SESSION, call->cancellable, &failure);
    library.g_object_unref(bus);
    return *service == NULL ? failed(call, failure) : SECRET_SERVICE_DONE;
}

// Opens a keyring that is locked, where the person may be asked and opens it.
static secret_service_result unlock(secret_service_call *call, void *service, void *keyring, bool may_ask)
{
    if (!library.secret_collection_get_locked(keyring)) return SECRET_SERVICE_DONE;
    if (!may_ask) return ended(call, SECRET_SERVICE_LOCKED, "the keyring is locked");
    error *failure = NULL;
    list wanted = {keyring, NULL, NULL};
    int count = library.secret_service_unlock_sync(service, &wanted, call->cancellable, NULL, &failure);
    if (failure != NULL) return failed(call, failure);
    return count == 1 ? SECRET_SERVICE_DONE : ended(call, SECRET_SERVICE_LOCKED, "the keyring was not unlocked");
}

// The default keyring, or NULL where none was made yet.
static secret_service_result default_keyring(secret_service_call *call, void *service, void **keyring)
{
    error *failure = NULL;
    *keyring =
        library.secret_collection_for_alias_sync(service, "default", COLLECTION_NONE, call->cancellable, &failure);
    return failure == NULL ? SECRET_SERVICE_DONE : failed(call, failure);
}

// What a key is found by. The attributes are not secret: a keyring that is locked shows them.
static void *attributes_of(const char *application)
{
    void *attributes = library.g_hash_table_new(library.g_str_hash, library.g_str_equal);
    library.g_hash_table_insert(attributes, "xdg:schema", "org.countersign.AppStorage");
    library.g_hash_table_insert(attributes, "application", application);
    return attributes;
}

static secret_service_result copy_key(secret_service_call *call, void *item, uint8_t *key)
{
    void *value = library.secret_item_get_secret(item);
    if (value == NULL) return ended(call, SECRET_SERVICE_FAILED, "the service did not give the key");
    size_t length = 0;
    const char *bytes = library.secret_value_get(value, &length);
    bool is_key = bytes != NULL && length == SECRET_SERVICE_KEY_LENGTH;
    if (is_key) memcpy(key, bytes, length);
    // libsecret overwrites its own copy.
    library.secret_value_unref(value);
    return is_key ? SECRET_SERVICE_DONE
                  : ended(call, SECRET_SERVICE_CORRUPT, "what the keyring has under that name is no key");
}

// Looks in all keyrings. Of those that are locked a service shows what it has, or says nothing at all.
static secret_service_result find(
    secret_service_call *call, void *service, const char *application, bool may_ask, uint8_t *key)
{
    error *failure = NULL;
    void *attributes = attributes_of(application);
    list *items = library.secret_service_search_sync(
        service, NULL, attributes, SEARCH_ALL | SEARCH_LOAD_SECRETS | (may_ask ? SEARCH_UNLOCK : 0), call->cancellable,
        &failure);
    library.g_hash_table_unref(attributes);
    secret_service_result result;
    if (failure != NULL) {
        result = failed(call, failure);
    } else if (items == NULL) {
        result = SECRET_SERVICE_NO_KEY;
    } else if (items->next != NULL) {
        result = ended(call, SECRET_SERVICE_CORRUPT, "the keyrings have several keys of that name");
    } else if (library.secret_item_get_locked(items->data)) {
        result = ended(
            call, SECRET_SERVICE_LOCKED, may_ask ? "the keyring was not unlocked" : "the keyring is locked");
    } else {
        result = copy_key(call, items->data, key);
    }
    library.g_list_free_full(items, library.g_object_unref);
    return result;
}

secret_service_result secret_service_read_key(
    secret_service_call *call, const char *application, bool may_ask, uint8_t key[SECRET_SERVICE_KEY_LENGTH])
{
    void *service = NULL;
    secret_service_result result = open_service(call, &service);
    if (result != SECRET_SERVICE_DONE) return result;
    result = find(call, service, application, may_ask, key);
    if (result == SECRET_SERVICE_NO_KEY) {
        // "Nothing" of a service whose default keyring is locked is no answer yet.
        void *keyring = NULL;
        secret_service_result looked = default_keyring(call, service, &keyring);
        if (looked != SECRET_SERVICE_DONE) {
            result = looked;
        } else if (keyring != NULL && library.secret_collection_get_locked(keyring)) {
            result = unlock(call, service, keyring, may_ask);
            if (result == SECRET_SERVICE_DONE) result = find(call, service, application, may_ask, key);
        }
        if (keyring != NULL) library.g_object_unref(keyring);
    }
    library.g_object_unref(service);
    return result;
}

static secret_service_result create(
    secret_service_call *call, void *service, const char *application, const char *label, bool may_ask,
    const uint8_t *key)
{
    error *failure = NULL;
    void *keyring = NULL;
    secret_service_result result = default_keyring(call, service, &keyring);
    if (result != SECRET_SERVICE_DONE) return result;
    if (keyring == NULL) {
        // The person chooses the password of a new keyring.
        if (!may_ask) return ended(call, SECRET_SERVICE_LOCKED, "there is no default keyring yet");
        keyring = library.secret_collection_create_sync(
            service, "Default keyring", "default", COLLECTION_NONE, call->cancellable, &failure);
        if (keyring == NULL) {
            result = failed(call, failure);
            if (result != SECRET_SERVICE_FAILED) return result;
            // Where the person gives the dialog up, libsecret looks for a keyring that nobody has made, and fails on that.
            result = default_keyring(call, service, &keyring);
            if (result == SECRET_SERVICE_DONE && keyring == NULL)
                return ended(call, SECRET_SERVICE_LOCKED, "no keyring was made");
            if (result != SECRET_SERVICE_DONE) return result;
        }
    }
    result = unlock(call, service, keyring, may_ask);
    if (result == SECRET_SERVICE_DONE) {
        void *attributes = attributes_of(application);
        // libsecret copies it into memory that is neither swapped nor left as it was.
        void *value =
            library.secret_value_new((const char *)key, SECRET_SERVICE_KEY_LENGTH, "application/octet-stream");
        void *item = library.secret_item_create_sync(
            keyring, NULL, attributes, label, value, CREATE_NONE, call->cancellable, &failure);
        library.secret_value_unref(value);
        library.g_hash_table_unref(attributes);
        if (item == NULL) result = failed(call, failure);
        if (item != NULL) library.g_object_unref(item);
    }
    library.g_object_unref(keyring);
    return result;
}

secret_service_result secret_service_create_key(
    secret_service_call *call, const char *application, const char *label, bool may_ask,
    const uint8_t key[SECRET_SERVICE_KEY_LENGTH])
{
    void *service = NULL;
    secret_service_result result = open_service(call, &service);
    if (result != SECRET_SERVICE_DONE) return result;
    result = create(call, service, application, label, may_ask, key);
    library.g_object_unref(service);
    return result;
}

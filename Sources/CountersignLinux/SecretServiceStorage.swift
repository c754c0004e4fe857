import CSecretService
public import Countersign
import Foundation
import UAFClient
public import _Primitives

/// A store for the data of a sign-in, on a machine whose session has a Secret Service: GNOME Keyring, KWallet,
/// KeePassXC.
///
/// The service stores one key of 256 bits in the person's default keyring, which the person's login or another password
/// opens. The key seals the values, in files like the files of ``AppFileStorage``. Several processes of the app can use
/// the values at once, with the locks of ``AppFileStorage``, and a value is on the disk when a write returns. The store
/// asks the service once, at opening. The key is then in the process's memory, so locking the keyring later takes
/// nothing from the process.
///
/// A thief of the disk or of a backup has nothing without the keyring's password. Any program in the person's session
/// can ask the service for the key, as for every other key, because the service does not distinguish between the
/// programs of a person.
public final class SecretServiceStorage: SignInStorage {
    private let files: AppFileStorage

    /// Always `false`: a reader of the disk has no key.
    public var isDevelopmentStore: Bool { false }

    /// Opens the store in a folder, and creates the folder and its key if necessary.
    ///
    /// The initializer waits for the service and the person on a separate thread. A cancelled task waits no longer, and
    /// the service is told to remove its dialog.
    ///
    /// - Parameters:
    ///   - application: The app's identifier, such as `com.example.bank`, of 1 to 128 letters, digits, `.`, `-` and
    ///     `_`. The key is found by the identifier, and the person reads the identifier in the keyring. Use one folder
    ///     for each identifier.
    ///   - directory: A folder for this store alone.
    ///   - mayAsk: `true` if the service may show its dialog for unlocking or creating a keyring. Pass `false` if no
    ///     person looks at the app.
    /// - Throws: ``StorageError``. `unsupported` if this machine has no libsecret, no session bus or no Secret Service:
    ///   use another storage. `locked` if the keyring is locked, and the person was not asked or did not open the
    ///   keyring: open the store again while the person looks at the app. `corrupt` if values exist without their key,
    ///   or if the keyring has something else in place of the key: remove the folder and, if present, the application's
    ///   item in the keyring; then the person signs in again. `inUse` while a process has the folder for itself.
    ///   `unavailable` if bus, service or disk fails, for a folder of an ``AppFileStorage``, and for an invalid
    ///   `application`. `CancellationError` if the task is cancelled.
    public init(application: String, directory: String, mayAsk: Bool = true, random: RandomSource = .system)
        async throws
    {
        guard Self.isName(application) else { throw StorageError(.unavailable, "not an identifier of an application") }
        self.files = try await SecretServiceCall().run { call in
            try Self.checkFolder(directory)
            return try AppFileStorage(
                directory: directory,
                keptKey: KeptKey(
                    read: { try call.readKey(of: application, mayAsk: mayAsk) },
                    keep: { try call.create($0, of: application, mayAsk: mayAsk) }),
                random: random)
        }
    }

    /// Returns the value with the name; see ``SignInStorage``.
    public func read(_ name: String) throws -> [UInt8]? { try self.files.read(name) }
    /// Sets a value durably; see ``SignInStorage``.
    public func write(_ value: [UInt8], to name: String) throws { try self.files.write(value, to: name) }
    /// Removes a value durably; see ``SignInStorage``.
    public func remove(_ name: String) throws { try self.files.remove(name) }
    /// Removes every value, durably; the key stays in the keyring.
    public func removeAll() throws { try self.files.removeAll() }
    /// Runs `body` alone under the name; see ``SignInStorage``.
    public func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws
        -> Value
    {
        try await self.files.withLock(name, body)
    }

    /// Throws for a folder that contains a key: the folder belongs to another store, whose values would not open.
    private static func checkFolder(_ directory: String) throws {
        guard !FileManager.default.fileExists(atPath: EncryptedFileStorage.keyFile(in: directory)) else {
            throw StorageError(.unavailable, "the folder has its key in a file: it is another store's")
        }
    }

    private static func isName(_ application: String) -> Bool {
        (1...128).contains(application.utf8.count)
            && application.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || Array("._-".utf8).contains(byte)
            }
    }
}

/// A call to the Secret Service, on a thread that waits for the service.
// Safe to share: the pointer never changes, and is freed when the last reference is gone. At most two threads use the
// pointer, and one of them only cancels, which the library allows on any thread.
private final class SecretServiceCall: @unchecked Sendable {
    private let call: OpaquePointer

    init() throws {
        guard let call = secret_service_call_new() else { throw StorageError(.unavailable, "there is no memory") }
        self.call = call
    }

    deinit { secret_service_call_free(self.call) }

    /// Runs `body` on a separate thread, because the library waits for other processes and for people at dialogs.
    func run<Value: Sendable>(_ body: @escaping @Sendable (SecretServiceCall) throws -> Value) async throws -> Value {
        let answer = Answer<Value>()
        Thread.detachNewThread { answer.give(Result { try body(self) }) }
        // A cancelled task does not wait for the thread: a service that was told to end its dialog may never confirm
        // the end.
        return try await withTaskCancellationHandler {
            try await answer.value
        } onCancel: {
            secret_service_call_cancel(self.call)
        }
    }

    func readKey(of application: String, mayAsk: Bool) throws -> SecretBytes? {
        var isThere = true
        let key = try SecretBytes(count: Int(SECRET_SERVICE_KEY_LENGTH)) { bytes in
            let result = secret_service_read_key(self.call, application, mayAsk, bytes.baseAddress)
            isThere = result != SECRET_SERVICE_NO_KEY
            if isThere { try self.check(result) }
        }
        return isThere ? key : nil
    }

    func create(_ key: SecretBytes, of application: String, mayAsk: Bool) throws {
        try key.withBytes { bytes in
            try self.check(
                secret_service_create_key(
                    self.call, application, application, mayAsk,
                    bytes.bindMemory(to: UInt8.self).baseAddress))
        }
    }

    private func check(_ result: secret_service_result) throws {
        let reason = String(cString: secret_service_call_reason(self.call))
        switch result {
        case SECRET_SERVICE_DONE: return
        case SECRET_SERVICE_LOCKED: throw StorageError(.locked, reason)
        case SECRET_SERVICE_CORRUPT: throw StorageError(.corrupt, reason)
        case SECRET_SERVICE_UNSUPPORTED: throw StorageError(.unsupported, reason)
        case SECRET_SERVICE_CANCELLED: throw CancellationError()
        default: throw StorageError(.unavailable, "the Secret Service failed: \(reason)")
        }
    }
}

import CSecretService
public import Countersign
import Foundation
import UAFClient
public import _Primitives

/// A store of what a sign-in keeps, on a machine whose session has a Secret Service: GNOME Keyring, KWallet, KeePassXC.
///
/// The service keeps one key of 256 bits, in the person's default keyring, which their login or another password of theirs
/// opens. Under it lie the values, in files as those of ``AppFileStorage``: several processes of the app use them at once,
/// with its locks, and a value is on the disk when a write returns. The service is asked once, when the store is opened; the
/// key is then in the memory of the process, and a keyring that is locked later takes nothing from it.
///
/// Whoever takes disk or backup has nothing without the keyring's password. A program that runs in the person's session can
/// ask the service for the key, as for every other: it tells programs of one person apart by nothing.
public final class SecretServiceStorage: SignInStorage {
    private let files: AppFileStorage

    /// Always false: a reader of the disk has no key.
    public var isDevelopmentStore: Bool { false }

    /// Opens the store in a folder, which is made, and its key with it, where there is none yet.
    ///
    /// The wait for service and person is a thread's of its own. A task that is cancelled waits no longer, and the service is
    /// told to take away what it shows.
    ///
    /// - Parameters:
    ///   - application: What the key is found by, and what the person reads in their keyring: the app's identifier, such as
    ///     `com.example.bank`, of 1 to 128 letters, digits, `.`, `-` and `_`. One folder for each.
    ///   - directory: A folder of the store's own.
    ///   - mayAsk: Whether the service may show its dialog for unlocking a keyring, or for making one. Say no where nobody looks
    ///     at the app.
    /// - Throws: ``StorageError``: `unsupported` where this machine has no libsecret, no session bus or no Secret Service: use
    ///   another storage. `locked` where the keyring is, and nobody was asked or opened it: open again while the person looks
    ///   at the app. `corrupt` where values are there without their key, or what the keyring has is none: remove the folder
    ///   and, where there is one, the application's item in the keyring; then the person signs in again. `inUse` while a process has the folder for itself. `unavailable` where bus, service or
    ///   disk fails, and for a folder that is an ``AppFileStorage``. `CancellationError` when the task is cancelled.
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

    /// The value of that name; see ``SignInStorage``.
    public func read(_ name: String) throws -> [UInt8]? { try self.files.read(name) }
    /// Sets a value durably; see ``SignInStorage``.
    public func write(_ value: [UInt8], to name: String) throws { try self.files.write(value, to: name) }
    /// Removes a value durably; see ``SignInStorage``.
    public func remove(_ name: String) throws { try self.files.remove(name) }
    /// Removes every value, durably; the key stays in the keyring.
    public func removeAll() throws { try self.files.removeAll() }
    /// Runs `body` alone under that name; see ``SignInStorage``.
    public func withLock<Value: Sendable>(_ name: String, _ body: @Sendable () async throws -> Value) async throws
        -> Value
    {
        try await self.files.withLock(name, body)
    }

    /// A folder with a key in it is another store's, whose values would not open.
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

/// What is asked of the Secret Service, on a thread that waits for it.
// Safe to share: the pointer never changes and is freed when nobody has the object any more; of two threads that use it one
// only cancels, which the library lets any thread do.
private final class SecretServiceCall: @unchecked Sendable {
    private let call: OpaquePointer

    init() throws {
        guard let call = secret_service_call_new() else { throw StorageError(.unavailable, "there is no memory") }
        self.call = call
    }

    deinit { secret_service_call_free(self.call) }

    /// Runs `body` on a thread of its own: the library waits for other processes, and dialogs for people.
    func run<Value: Sendable>(_ body: @escaping @Sendable (SecretServiceCall) throws -> Value) async throws -> Value {
        let answer = Answer<Value>()
        Thread.detachNewThread { answer.give(Result { try body(self) }) }
        // Who is cancelled does not wait for the thread: a service that has been told to end its dialog may never say that it
        // has.
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

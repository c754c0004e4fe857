import Foundation
import _Primitives

/// A new file of mode 0600 for one secret, made before the secret exists. A secret is shown once, so a command must not
/// request a secret before there is a place to keep the secret.
final class SecretFile {
    let path: String
    private let handle: FileHandle
    private var isWritten = false

    /// Makes the file. Throws ``CommandFailure`` if the file already exists, or cannot be made.
    init(path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(.failed, "\(path) cannot be made: \(String(cString: strerror(errno)))")
        }
        self.path = path
        self.handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }

    func write(_ secret: String) throws {
        try self.handle.write(contentsOf: Data((secret + "\n").utf8))
        try self.handle.synchronize()
        self.isWritten = true
    }

    /// Writes the secret that an answer shows as `member` into the file. The answer then has the file's path, as the
    /// member with `File` at its end, in place of the secret.
    func take(_ member: String, from answer: inout JSONObject) throws {
        try self.write(try answer.requiredString(member))
        answer[member] = nil
        answer[member + "File"] = .string(self.path)
    }

    /// Deletes the file if no secret was written.
    deinit { if !self.isWritten { unlink(self.path) } }
}

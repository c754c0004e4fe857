import Ceremony
import Foundation
import _Primitives

/// The file that holds the service's secret as one line of base64url. Only the file's owner can read the file.
struct MasterKeyFile {
    let path: String

    /// Reads the secret. Makes a secret if the file is missing and `isFirst` is `true`: nothing has been evaluated yet.
    ///
    /// A new secret in place of a lost secret would make every PIN wrong without a word. Throws ``CommandFailure``.
    func key(isFirst: Bool, random: RandomSource = .system) throws -> SecretBytes {
        guard FileManager.default.fileExists(atPath: self.path) else {
            guard isFirst else {
                throw CommandFailure(
                    .failed, "the file \(self.path) is missing, and PINs were evaluated with it",
                    remedy:
                        "Restore it from where keys are kept. With another one no PIN is right that was evaluated before: "
                        + "to begin so, name an empty folder (--data).")
            }
            let secret = random.bytes(PinServiceKey.masterBytes)
            try SecretFile(path: self.path).write(Base64URL.encode(secret))
            DataFolder.synchronizeFolder((self.path as NSString).deletingLastPathComponent)
            return SecretBytes(secret)
        }
        let mode = (try? FileManager.default.attributesOfItem(atPath: self.path))?[.posixPermissions] as? Int
        guard let mode, mode & 0o077 == 0 else {
            throw CommandFailure(
                .failed, "the file \(self.path) can be read by others", remedy: "chmod 600 \(self.path)")
        }
        guard let data = FileManager.default.contents(atPath: self.path),
            let bytes = Base64URL.decode(
                String(decoding: data, as: UTF8.self).trimmingCharacters(in: .newlines)),
            bytes.count == PinServiceKey.masterBytes
        else {
            throw CommandFailure(
                .failed, "the file \(self.path) does not hold \(PinServiceKey.masterBytes) bytes of base64url",
                remedy: "Restore it from where keys are kept; with a new one no PIN is right that was evaluated before."
            )
        }
        return SecretBytes(bytes)
    }
}

import Ceremony
import Foundation
import _Primitives

/// The file that holds the service's secret as one line of base64url, readable by its owner alone.
struct MasterKeyFile {
    let path: String

    /// Reads the secret, or makes one where there is no file. Throws ``CommandFailure``.
    func key(random: RandomSource = .system) throws -> SecretBytes {
        guard FileManager.default.fileExists(atPath: self.path) else {
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

import Crypto
import Records
import Settings
import _Primitives

/// Texts that only this provider can read, and that need no record at the provider.
///
/// ```
///  0          4             16                               n - 16        n
///  ├─ slot ───┼─ nonce ─────┼─ what it says, sealed ─────────┼─ tag ──────┤   as base64url
/// ```
///
/// AES-256-GCM under a key for each hour: nonces are random, and no key ever seals so many tokens that two nonces are
/// likely the same (NIST SP 800-38D, section 8.3).
extension SigningKeys {
    private static let slotBytes = 4
    private static let nonceBytes = 12
    private static let tagBytes = 16

    /// Seals the content of an opaque token. Cost: one derivation of a key, one encryption.
    func seal(opaqueToken bytes: [UInt8], random: RandomSource, at moment: Timestamp) throws -> String {
        let slot = UInt32(
            truncatingIfNeeded: moment.milliseconds / Limits.Fixed.opaqueTokenKeyLifetime.milliseconds)
        let name = (0..<Self.slotBytes).reversed().map { UInt8(truncatingIfNeeded: slot >> (8 * UInt32($0))) }
        do {
            let box = try AES.GCM.seal(
                bytes, using: self.opaqueTokenKey(ofSlot: name),
                nonce: AES.GCM.Nonce(data: random.bytes(Self.nonceBytes)), authenticating: name)
            return Base64URL.encode(name + Array(box.nonce) + Array(box.ciphertext) + Array(box.tag))
        } catch {
            throw StoreError(.unavailable, "an opaque token cannot be sealed")
        }
    }

    /// Returns the content of an opaque token; `nil` if this provider did not make the token in this epoch. Cost: as to
    /// seal it.
    func open(opaqueToken text: String) -> [UInt8]? {
        guard text.utf8.count <= Limits.Fixed.signedTokenCharacters, let bytes = Base64URL.decode(text),
            bytes.count > Self.slotBytes + Self.nonceBytes + Self.tagBytes
        else { return nil }
        let name = Array(bytes.prefix(Self.slotBytes))
        let sealed = bytes.dropFirst(Self.slotBytes)
        guard let nonce = try? AES.GCM.Nonce(data: sealed.prefix(Self.nonceBytes)),
            let box = try? AES.GCM.SealedBox(
                nonce: nonce, ciphertext: sealed.dropFirst(Self.nonceBytes).dropLast(Self.tagBytes),
                tag: sealed.suffix(Self.tagBytes)),
            let opened = try? AES.GCM.open(box, using: self.opaqueTokenKey(ofSlot: name), authenticating: name)
        else { return nil }
        return Array(opened)
    }

    private func opaqueTokenKey(ofSlot name: [UInt8]) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: self.opaqueTokenKey, info: name, outputByteCount: 32)
    }
}

import JOSE
package import _Primitives

extension ReceiptRecord {
    /// The receipt and its evidence before sealing, as a JSON object.
    package var stored: [UInt8] {
        JSON.object([
            "receipt": .string(self.receipt),
            "evidence": .array(
                self.evidence.map { evidence in
                    .object([
                        "aaid": .string(evidence.aaid), "assertion": .string(Base64URL.encode(evidence.assertion)),
                        "assertionSalt": .string(Base64URL.encode(evidence.assertionSalt)),
                        "key": .string(Base64URL.encode(evidence.key)),
                        "keySalt": .string(Base64URL.encode(evidence.keySalt)),
                        "keyFormat": .integer(Int64(evidence.keyFormat)),
                        "algorithm": .integer(Int64(evidence.algorithm)),
                    ])
                }),
        ]).serialized
    }

    /// Reads a stored receipt. Throws ``StoreError/Code/corrupt`` for bytes that are no such object.
    package init(
        stored bytes: [UInt8], session: String, clientID: String, accountID: String, keptUntil: Timestamp
    ) throws(StoreError) {
        do {
            guard case .object(let object) = try JSON(parsing: bytes) else { throw StoreError(.corrupt, "a receipt") }
            func part(_ name: String, of evidence: JSONObject) throws -> [UInt8] {
                guard let bytes = Base64URL.decode(try evidence.requiredString(name)) else {
                    throw StoreError(.corrupt, "the evidence of a receipt")
                }
                return bytes
            }
            self.init(
                session: session, clientID: clientID, accountID: accountID,
                receipt: try object.requiredString("receipt"),
                evidence: try (object.array("evidence") ?? []).map { value in
                    guard case .object(let evidence) = value else {
                        throw StoreError(.corrupt, "the evidence of a receipt")
                    }
                    return Evidence(
                        aaid: try evidence.requiredString("aaid"), assertion: try part("assertion", of: evidence),
                        assertionSalt: try part("assertionSalt", of: evidence), key: try part("key", of: evidence),
                        keySalt: try part("keySalt", of: evidence),
                        keyFormat: try evidence.requiredInteger("keyFormat"),
                        algorithm: try evidence.requiredInteger("algorithm"))
                }, keptUntil: keptUntil)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.corrupt, "a receipt")
        }
    }
}

extension ReceiptKeyRecord {
    /// Returns the public keys among new signing keys that sign receipts. The keys of other faces have no such record.
    ///
    /// - Parameter start: The moment from which the keys sign; `nil` for keys that sign from their making on.
    ///
    /// Throws ``StoreError/Code/corrupt`` if a key is no key.
    package static func added(by keys: [SigningKeyRecord], from start: Timestamp?) throws(StoreError) -> [Self] {
        var added: [Self] = []
        for record in keys where record.face == .receipt {
            let key = try? SigningKey(kept: record.privateKey, algorithm: record.algorithm, keyID: record.id)
            guard let json = key?.publicKey?.publicJSON else { throw StoreError(.corrupt, "a signing key") }
            added.append(
                Self(
                    id: record.id, publicKey: JSON.object(json).text, signsFrom: start ?? record.createdAt,
                    signsUntil: nil, seenSince: nil))
        }
        return added
    }
}

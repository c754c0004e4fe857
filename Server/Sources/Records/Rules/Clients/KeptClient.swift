import JOSE
package import _Primitives

/// Reading the stored words of clients and signing keys. An unknown word is the work of another program.
extension RawRepresentable where RawValue == String {
    /// Reads a stored word. Throws ``StoreError/Code/corrupt`` with the name of the value.
    fileprivate init(word: String, of value: String) throws(StoreError) {
        guard let known = Self(rawValue: word) else { throw StoreError(.corrupt, value) }
        self = known
    }
}

extension ClientSettings.CodeBinding {
    /// Reads the stored word. Throws ``StoreError/Code/corrupt``.
    package init(kept word: String) throws { try self.init(word: word, of: "what a client's codes are bound to") }
}

extension ClientSettings.Party {
    /// Reads the stored word. Throws ``StoreError/Code/corrupt``.
    package init(kept word: String) throws { try self.init(word: word, of: "whose a client is") }
}

extension ClientSettings.AnswerDelivery.Mode {
    /// Reads the stored word. Throws ``StoreError/Code/corrupt``.
    package init(kept word: String) throws { try self.init(word: word, of: "how a client hears what people answer") }
}

extension ClientSettings.AssertionAudience {
    /// Reads the stored word. Throws ``StoreError/Code/corrupt``.
    package init(kept word: String) throws { try self.init(word: word, of: "whom a client's assertions name") }
}

extension ClientProfile.Security {
    /// Reads the stored word. Throws ``StoreError/Code/corrupt``.
    package init(kept word: String) throws { try self.init(word: word, of: "the rules of a client's requests") }
}

extension SigningKeyRecord.Face {
    /// Reads the stored word. Throws ``StoreError/Code/corrupt``.
    package init(kept word: String) throws { try self.init(word: word, of: "whose a signing key is") }
}

extension ProviderKeys {
    /// Returns the sealed secret of the pairwise subjects. Throws ``StoreError/Code/notFound`` for `nil`: the store has
    /// found no secret, so no process has offered keys yet.
    package static func sealedSecret<Sealed>(found sealed: Sealed?) throws(StoreError) -> Sealed {
        guard let sealed else { throw StoreError(.notFound, "the provider has no keys yet") }
        return sealed
    }

    /// Returns the keys to add for an offered key: the key itself, or none if a key of the same algorithm and face is in
    /// use.
    package func missing(_ offered: SigningKeyRecord) -> [SigningKeyRecord] {
        let isThere = self.signingKeys.contains {
            $0.algorithm == offered.algorithm && $0.face == offered.face && $0.retiredAt == nil
        }
        return isThere ? [] : [offered]
    }
}

extension ClientCertificateName {
    /// Reads the stored text. Throws ``StoreError/Code/corrupt``.
    package init(kept text: String) throws {
        guard let name = Self(text) else { throw StoreError(.corrupt, "the name of a client's certificate") }
        self = name
    }
}

extension FormerSecret {
    /// Reads a stored former secret; `nil` for no digest. Throws ``StoreError/Code/corrupt`` for a digest without an
    /// end.
    package init?(kept digest: [UInt8]?, endsAt: Timestamp?) throws {
        guard let digest else { return nil }
        guard let endsAt else { throw StoreError(.corrupt, "a client's former secret") }
        self.init(digest: digest, endsAt: endsAt)
    }
}

extension ClientRecord {
    /// Reads the stored digest of a secret. No bytes stand for no secret.
    package static func secretDigest(kept bytes: [UInt8]) -> [UInt8]? { bytes.isEmpty ? nil : bytes }

    /// Returns the stored form of a list of the client's.
    package static func keptText(of list: [String]) -> String { JSON.array(list.map(JSON.string)).text }

    /// Reads the output of ``keptText(of:)``. Throws ``StoreError/Code/corrupt``.
    package static func list(kept text: String) throws -> [String] {
        guard let list = try? JSONObject([("a", JSON(parsing: text))]).strings("a") else {
            throw StoreError(.corrupt, "a list of a client's")
        }
        return list
    }
}

extension ClientRegistration {
    /// The stored word in place of an initial access token's identifier, for a client that came by a document.
    private static let documentWord = "client-id-document"

    /// The initial access token's identifier, or the word for a document; `nil` for an open registration.
    package var registeredBy: String? {
        switch self {
        case .invited(_, let initialToken): initialToken
        case .open: nil
        case .document: Self.documentWord
        }
    }

    /// Reads a registration; `nil` for a client of the operator. Throws ``StoreError/Code/corrupt``.
    package init?(digest: [UInt8]?, registeredBy: String?) throws {
        switch (digest, registeredBy) {
        case (nil, nil): return nil
        case (let digest?, let token?): self = .invited(tokenDigest: digest, initialToken: token)
        case (let digest?, nil): self = .open(tokenDigest: digest)
        case (nil, let word?):
            guard word.hasSameBytes(as: Self.documentWord) else {
                throw StoreError(.corrupt, "how a client was registered")
            }
            self = .document
        }
    }
}

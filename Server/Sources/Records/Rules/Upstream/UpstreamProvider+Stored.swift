import _Primitives

/// The stored forms of a provider's settings: words, JSON lists, and addresses that are stored together or not at all.
extension UpstreamProvider {
    /// Reads a stored word. Throws ``StoreError/Code/corrupt`` for an unknown word.
    package static func word<Word: RawRepresentable<String>>(stored text: String) throws -> Word {
        guard let word = Word(rawValue: text) else {
            throw StoreError(.corrupt, "a word of another provider's settings")
        }
        return word
    }

    /// Reads a stored list. Throws ``StoreError/Code/corrupt`` if the text is no JSON list.
    private static func list(stored text: String) throws -> [JSON] {
        guard case .array(let values)? = try? JSON(parsing: text) else {
            throw StoreError(.corrupt, "a list of another provider's settings")
        }
        return values
    }

    /// Reads a stored list of texts. Other members are left out.
    package static func texts(stored text: String) throws -> [String] {
        try Self.list(stored: text).compactMap { value in
            guard case .string(let text) = value else { return nil }
            return text
        }
    }

    /// Reads a stored list of objects. Other members are left out.
    fileprivate static func objects(stored text: String) throws -> [JSONObject] {
        try Self.list(stored: text).compactMap { value in
            guard case .object(let object) = value else { return nil }
            return object
        }
    }

    /// Returns the stored form of a list of texts.
    package static func stored(_ texts: [String]) -> String { JSON.array(texts.map(JSON.string)).text }
}

extension UpstreamProvider.Level {
    /// Reads the stored translations of a provider's words.
    package static func list(stored text: String) throws -> [Self] {
        try UpstreamProvider.objects(stored: text).map { level in
            Self(theirs: try level.requiredString("theirs"), ours: try level.requiredString("ours"))
        }
    }

    /// Returns the stored form of translations.
    package static func stored(_ levels: [Self]) -> String {
        JSON.array(
            levels.map { level in JSON.object(["theirs": .string(level.theirs), "ours": .string(level.ours)]) }
        ).text
    }
}

extension UpstreamProvider.LevelRequest {
    /// Reads the stored words that clients may request.
    package static func list(stored text: String) throws -> [Self] {
        try UpstreamProvider.objects(stored: text).map { request in
            Self(
                asked: try request.requiredString("asked"), sent: try request.strings("sent") ?? [],
                raised: try request.strings("raised") ?? [])
        }
    }

    /// Returns the stored form of words that clients may request.
    package static func stored(_ requests: [Self]) -> String {
        JSON.array(
            requests.map { request in
                JSON.object([
                    "asked": .string(request.asked), "sent": .array(request.sent.map(JSON.string)),
                    "raised": .array(request.raised.map(JSON.string)),
                ])
            }
        ).text
    }
}

extension UpstreamProvider.Endpoints {
    /// Makes endpoints of stored addresses; `nil` unless all three are stored.
    package init?(authorization: String?, token: String?, userinfo: String?) {
        guard let authorization, let token, let userinfo else { return nil }
        self.init(authorization: authorization, token: token, userinfo: userinfo)
    }
}

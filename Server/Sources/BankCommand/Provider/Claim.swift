/// A statement of the provider about a person, as a page shows the statement.
struct Claim: Sendable, Equatable {
    /// The claim's name in OpenID Connect (Core 1.0, section 5.1).
    let name: String
    let text: String
}

/// The provider's statements about a person: the claims that are texts, and an address, which is an object of texts
/// (OpenID Connect Core 1.0, section 5.1.1).
struct UserInfo: Decodable {
    let subject: String
    /// The claims in the order of their names.
    let claims: [Claim]

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        self.subject = try container.decode(String.self, forKey: Name(stringValue: "sub"))
        self.claims = container.allKeys.filter { $0.stringValue != "sub" }.compactMap { key in
            if let text = try? container.decode(String.self, forKey: key) {
                return Claim(name: key.stringValue, text: text)
            }
            guard let parts = try? container.decode([String: String].self, forKey: key) else { return nil }
            let text = parts["formatted"] ?? parts.sorted { $0.key < $1.key }.map(\.value).joined(separator: ", ")
            return Claim(name: key.stringValue, text: text)
        }.sorted { $0.name < $1.name }
    }
}

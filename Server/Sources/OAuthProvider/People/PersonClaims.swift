import OAuth
import Records
import _Primitives

/// The claims about a person that clients can receive, by scopes (OpenID Connect Core 1.0, section 5.4) and by the
/// claims' own names (section 5.5).
enum PersonClaims {
    /// Claims that a client receives by the same scope, and that a person allows as one item.
    typealias Part = (item: ConsentItem, scope: String, claims: [String])

    /// All claims.
    static let parts: [Part] = [
        (.username, Scope.profile, ["preferred_username"]),
        (.name, Scope.profile, ["name", "given_name", "family_name", "middle_name"]),
        (.profile, Scope.profile, ["picture", "locale", "zoneinfo", "updated_at"]),
        (.email, Scope.email, ["email", "email_verified"]),
        (.phone, Scope.phone, ["phone_number", "phone_number_verified"]),
        (.address, Scope.address, ["address"]),
    ]

    /// The scopes that have claims.
    static let scopes = [Scope.profile, Scope.email, Scope.phone, Scope.address]

    /// The names of all claims.
    static var names: [String] { Self.parts.flatMap(\.claims) }

    /// Returns the names of the claims of scopes.
    static func names(of scope: Scope) -> [String] {
        Self.parts.filter { scope.contains($0.scope) }.flatMap(\.claims)
    }

    /// Returns all claims of a person that have a value.
    private static func all(_ person: Person) -> JSONObject {
        var claims: JSONObject = [:]
        claims["preferred_username"] = person.username.map(JSON.string)
        claims["name"] = person.displayName.map(JSON.string)
        for (name, value) in person.profile?.claims.members ?? [] { claims[name] = value }
        claims["updated_at"] = person.updatedAt.map { .integer($0.seconds) }
        claims["email"] = person.email.map { .string($0.address) }
        claims["email_verified"] = person.email.map { .bool($0.isVerified) }
        claims["phone_number"] = person.phone.map { .string($0.number) }
        claims["phone_number_verified"] = person.phone.map { .bool($0.isVerified) }
        claims["address"] = person.address.map { .object($0.parts) }
        return claims
    }

    /// Returns the claims that a client receives about a person: the claims of the client's scopes, and the claims that
    /// the client has named.
    ///
    /// Leaves out a named claim whose value is none of the requested values, unless a scope has the claim. Leaves out
    /// claims without a value, even if a claim is essential.
    static func told(of person: Person, scope: Scope?, named: [ClaimsRequest.Claim]) -> JSONObject {
        let byScope = scope.map(Self.names(of:)) ?? []
        var told: JSONObject = [:]
        for (name, value) in Self.all(person).members {
            let isNamed = named.contains { claim in
                claim.name.hasSameBytes(as: name) && (claim.values.isEmpty || claim.values.contains(value))
            }
            if isNamed || byScope.containsBytes(of: name) { told[name] = value }
        }
        return told
    }
}

extension ClaimsRequest {
    /// `true` if the request names claims about the person, beyond the claims of every ID token.
    var isAboutPerson: Bool {
        (self.idToken + self.userinfo).contains { PersonClaims.names.containsBytes(of: $0.name) }
    }

    /// Returns the only subject whose ID token may be sent (OpenID Connect Core 1.0, sections 3.1.2.2 and 5.5.1); `nil`
    /// for any subject.
    ///
    /// Throws `OAuthError` `invalid_request` if the value is not a single text, or if two values differ.
    func expectedSubject() throws(OAuthError) -> String? {
        var subject: String?
        for claim in self.idToken + self.userinfo where claim.name.hasSameBytes(as: "sub") && !claim.values.isEmpty {
            guard claim.values.count == 1, case .string(let text) = claim.values[0],
                (subject ?? text).hasSameBytes(as: text)
            else {
                throw OAuthError(.invalidRequest, "In claims, sub can have one value.")
            }
            subject = text
        }
        return subject
    }
}

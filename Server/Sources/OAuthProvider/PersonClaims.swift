import OAuth
import Store
import _Primitives

/// What clients can be told of a person, by scopes (OpenID Connect Core 1.0, section 5.4) and by the claims' own names
/// (section 5.5).
enum PersonClaims {
    /// The scopes with what they are for.
    static let scopes: [(scope: String, claims: [String])] = [
        (Scope.profile, ["preferred_username", "name"] + PersonProfile.names + ["updated_at"]),
        (Scope.email, ["email", "email_verified"]),
        (Scope.phone, ["phone_number", "phone_number_verified"]),
        (Scope.address, ["address"]),
    ]

    /// All of them.
    static var names: [String] { Self.scopes.flatMap(\.claims) }

    /// What there is of a person.
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

    /// What a client is told: all that its scopes are for, and what it has named. A claim that is to have one of some
    /// values, and has another, is left out, and so is what there is not: that it is essential changes nothing.
    static func told(of person: Person, scope: Scope?, named: [ClaimsRequest.Claim]) -> JSONObject {
        let byScope = Self.scopes.filter { scope?.contains($0.scope) ?? false }.flatMap(\.claims)
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
    /// Whether it names something of a person, beside what every ID token says.
    var isAboutPerson: Bool {
        (self.idToken + self.userinfo).contains { PersonClaims.names.containsBytes(of: $0.name) }
    }

    /// The subject whose ID token alone may be sent (OpenID Connect Core 1.0, sections 3.1.2.2 and 5.5.1): one at most.
    ///
    /// Throws `OAuthError` `invalid_request` where it is no single text.
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

extension OpenIDProvider {
    /// The person of a grant, where their account may sign in, and who came in a role still has it at the service. `nil` for
    /// everybody else.
    ///
    /// Whatever is given for a grant asks here, and whatever takes a token of one.
    ///
    /// Cost: one query; of who came in a role two more.
    func person(of standing: StandingGrant) async throws -> Person? {
        let authentication = standing.authentication
        guard let person = try await self.people.person(account: authentication.account) else { return nil }
        guard authentication.role != nil else { return person }
        let isTaken = try await self.people.takes(
            authentication.account, in: authentication.role, at: standing.grant.client)
        return isTaken ? person : nil
    }

    /// What the ID token of a grant says of the person because its client has named it.
    ///
    /// Cost: nothing where nothing is named; else two queries.
    func namedClaims(for standing: StandingGrant) async throws -> JSONObject {
        guard let text = standing.grant.claims else { return [:] }
        let asked = try ClaimsRequest(text).idToken
        if !asked.isEmpty,
            let confirmed = try await self.people.confirmedClaims(
                account: standing.authentication.account, client: standing.grant.client)
        {
            var told: JSONObject = [:]
            for claim in asked {
                guard let value = confirmed[claim.name], claim.values.isEmpty || claim.values.contains(value) else {
                    continue
                }
                told[claim.name] = value
            }
            return told
        }
        let named = asked.filter { PersonClaims.names.containsBytes(of: $0.name) }
        guard !named.isEmpty, let person = try await self.people.person(account: standing.authentication.account) else {
            return [:]
        }
        return PersonClaims.told(of: person, scope: nil, named: named)
    }
}

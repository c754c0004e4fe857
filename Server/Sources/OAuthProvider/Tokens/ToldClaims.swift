import OAuth
import Records
import _Primitives

/// The claims about people that clients receive.
struct ToldClaims: Sendable {
    let people: any PersonDirectory
    let standing: Standing

    /// Returns the claims about the person of a grant, and the role of the sign-in if the client is a service that asks
    /// people itself. `nil` if the account is locked, is no longer accepted, or has not consented.
    ///
    /// - Parameter facts: The facts about the person, as of ``Standing/facts(of:at:)``.
    ///
    /// Cost: two queries.
    func told(
        of standing: StandingGrant, _ facts: StandingFacts, scope: Scope, named: [ClaimsRequest.Claim]
    ) async throws -> (claims: JSONObject, role: String?)? {
        // A service that asks people itself receives the claims that a person has confirmed. Its scopes give the
        // service nothing more.
        let confirmed = try await self.people.confirmedClaims(
            account: standing.authentication.account, client: standing.grant.client)
        let role = standing.authentication.role
        let isOfService = role?.service.hasSameBytes(as: standing.grant.client) ?? false
        var facts = facts
        // A client that is no longer a service has no roles, and receives the subject alone.
        if isOfService, confirmed == nil { facts.isTaken = true }
        guard facts.refusal == nil,
            let person = try await self.standing.person(ofAccount: standing.authentication.account)
        else { return nil }
        if let confirmed { return (confirmed, isOfService ? role?.role : nil) }
        // A person who came to a former service has confirmed nothing for the present client.
        return (isOfService ? [:] : PersonClaims.told(of: person, scope: scope, named: named), nil)
    }

    /// Returns the claims about the person that the client has named for the ID token of a grant, with their values. A
    /// service that asks people itself gets only claims that the person has confirmed for the service.
    ///
    /// Cost: nothing if the client named none; else two queries, or four at a service that asks people itself.
    func namedClaims(for grant: GrantRecord, of authentication: AuthenticationRecord) async throws -> JSONObject {
        guard let text = grant.claims else { return [:] }
        let asked = try ClaimsRequest(text).idToken
        if !asked.isEmpty,
            let confirmed = try await self.people.confirmedClaims(
                account: authentication.account, client: grant.client)
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
        guard !named.isEmpty, let person = try await self.people.person(account: authentication.account) else {
            return [:]
        }
        return PersonClaims.told(of: person, scope: nil, named: named)
    }
}

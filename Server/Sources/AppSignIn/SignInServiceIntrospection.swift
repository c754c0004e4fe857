import OAuth
import OAuthProvider
import Records
import _Primitives

/// Tells clients of the app sign-in service about the person of a session.
public struct SignInServiceIntrospection: Sendable {
    let sessions: SignInServiceSessions
    let standing: Standing

    /// Returns the facts about a session's person (`GET /v0/sign_in/introspect`), as a document of JSON:API.
    ///
    /// Cost: one verification, three queries.
    public func answer(_ request: SignInServiceRequest) async throws -> SignInServiceAnswer {
        try await self.sessions.endpoint.answer(request, status: 401) { named in
            let (session, _) = try await self.sessions.session(of: request)
            named = session.client.id
            let authentication = session.standing.authentication
            guard let person = try await self.standing.person(ofAccount: session.account) else {
                throw SignInServiceError.endedSession
            }
            let id = self.sessions.subject(ofAccount: session.account)
            var attributes = Self.unknownAttributes
            attributes["uuid"] = .string(id)
            attributes["first_name"] = SignInServiceAttribute.firstName.value(of: person) ?? .string("")
            attributes["last_name"] = SignInServiceAttribute.lastName.value(of: person) ?? .string("")
            attributes["email"] = person.email.map { .string($0.address) } ?? .string("")
            attributes["phone_number"] = person.phone.map { .string($0.number) }
            attributes["address"] = person.address.map { .object($0.parts) }
            attributes["authn_context"] = .string(authentication.acr)
            attributes["verified"] = .bool(self.isVerified(authentication.acr, session.settings))
            attributes["access_token_ttl"] = .integer(
                max(0, (session.expiresAt - self.sessions.clients.time.now()).components.seconds))
            return SignInServiceAnswer(
                body: [
                    "data": .object([
                        "id": .string(id), "type": .string("users"), "attributes": .object(attributes),
                    ])
                ])
        }
    }

    /// The attributes that this server does not know, all empty. The pages of the service's clients read these
    /// attributes without a check for presence.
    private static let unknownAttributes: JSONObject = {
        var attributes: JSONObject = ["id_theft_flag": .bool(false)]
        for name in [
            "middle_name", "icn", "idme_uuid", "logingov_uuid", "birth_date", "gender", "birls_id", "edipi", "sec_id",
            "vet360_id", "participant_id", "cerner_id",
        ] { attributes[name] = .string("") }
        for name in ["active_mhv_ids", "cerner_facility_ids", "vha_facility_ids"] { attributes[name] = .array([]) }
        return attributes
    }()

    /// `true` if an authentication of that level is enough for the highest level that the client may request: for every
    /// word of the client that needs a level. `false` if no word needs a level.
    private func isVerified(_ level: String, _ settings: SignInServiceSettings) -> Bool {
        let needed = settings.levels.compactMap(\.needed)
        let table = self.sessions.clients.levels
        return !needed.isEmpty
            && needed.allSatisfy { word in
                table.contains { $0.name.hasSameBytes(as: word) && $0.levels.containsBytes(of: level) }
            }
    }
}

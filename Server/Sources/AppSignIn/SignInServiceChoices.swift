public import OAuth
import OAuthProvider
import Records
import _Primitives

/// The ways for a person to sign in to a client of the app sign-in service, with their addresses.
public struct SignInServiceChoices: Sendable {
    /// A way to sign in: the client's word, and the address for the browser.
    public struct Way: Sendable, Equatable {
        /// The word (`type`).
        public let type: String
        /// The sign-in method of the way.
        public let method: String
        /// The parameters of the sign-in's address.
        public let parameters: Parameters
    }

    /// The client.
    public let client: String
    /// The client's name, as people see it.
    public let clientName: String
    /// The ways, the best first.
    public let ways: [Way]
    /// The challenge that binds the code which the app requests.
    public let challenge: CodeChallenge
}

extension SignInServiceAuthorizations {
    /// Returns the choices of the page that an app opens (`/sign-in?application=…&oauth=true`): only the ways of that
    /// client, each with the address that begins the sign-in. Errors in the rest of the request are also found here,
    /// before a person chooses.
    ///
    /// Throws `OAuthError` `invalid_request`, for the page. Cost: two queries.
    public func choices(_ parameters: Parameters) async throws -> SignInServiceChoices {
        guard let id = parameters["application"], let (client, settings) = try await self.endpoint.client(id),
            parameters["oauth"]?.hasSameBytes(as: "true") ?? false
        else {
            throw OAuthError(
                .invalidRequest, "The address of the sign-in is not right: the app is not known here.",
                detail: "application names no client of the app sign-in service, or oauth is not true")
        }
        var asked: Parameters = ["client_id": client.id]
        for name in ["code_challenge", "code_challenge_method", "state", "scope", "operation"] {
            if let value = parameters[name] { asked.append(name, value) }
        }
        let upstream = try await self.providers.upstreamProviders()
        let ways = client.settings.signInMethods.compactMap { method -> SignInServiceChoices.Way? in
            // Without a requested level, the way has the lowest level that the app may request.
            let levels = settings.levels.filter { Self.takes($0.word, method, among: upstream) }
            let least = levels.first { $0.needed == nil } ?? levels.first
            guard let level = parameters["acr"] ?? least?.word, Self.takes(level, method, among: upstream) else {
                return nil
            }
            var parameters = asked
            parameters.append("acr", level)
            let type = Self.type(ofMethod: method)
            parameters.append("type", type)
            return SignInServiceChoices.Way(type: type, method: method, parameters: parameters)
        }
        guard !ways.isEmpty else { throw OAuthError(.invalidRequest, "The acr is not valid.") }
        do {
            for way in ways { _ = try self.checked(way.parameters, of: client, settings, upstream: upstream) }
            return SignInServiceChoices(
                client: client.id, clientName: client.name, ways: ways, challenge: try Self.challenge(asked))
        } catch let error as SignInServiceError {
            throw OAuthError(.invalidRequest, error.message, detail: error.detail)
        }
    }
}

import Countersign
import Foundation

/// The app's own back end, which signs people in by their identities (`Examples/BackEnd`).
struct OwnBackEnd: Sendable {
    let address: URL
    var transport: any Transport = URLSessionTransport()

    /// A sign-in that the back end has begun.
    struct SignIn: Decodable {
        /// The name of the sign-in at the back end: a secret of this app and the back end.
        let handle: String
        let clientID: String
        let redirectURI: String
        let scope: String
        let state: String
        let nonce: String
        let codeChallenge: String
    }

    /// A person that is signed in to the back end.
    struct Session: Decodable {
        /// The token that the app sends with each further request.
        let token: String
        let greeting: String
    }

    /// A refusal of the back end, with the next step.
    struct Refusal: Error, Decodable {
        let error: String
    }

    func begin() async throws -> SignIn { try await self.send("POST", "sign-in", [:]) }

    func finish(_ signIn: SignIn, with code: AuthorizationCode) async throws -> Session {
        try await self.send(
            "POST", "sign-in/finish",
            ["handle": signIn.handle, "code": code.code, "state": code.state ?? "", "issuer": code.issuer])
    }

    private func send<Answer: Decodable>(_ method: String, _ path: String, _ body: [String: String]) async throws
        -> Answer
    {
        let response = try await self.transport.send(
            TransportRequest(
                method: method, url: self.address.appending(path: path),
                headers: [("Content-Type", "application/json"), ("Accept", "application/json")],
                body: Array(try JSONEncoder().encode(body)), timeout: .seconds(20)))
        guard response.status == 200 else {
            // A proxy between the app and its back end answers in another format.
            throw (try? JSONDecoder().decode(Refusal.self, from: Data(response.body)))
                ?? Refusal(error: "The app's own server does not answer as it should. Try again in a while.")
        }
        return try JSONDecoder().decode(Answer.self, from: Data(response.body))
    }
}

func signIn(
    to backEnd: OwnBackEnd, at idmIdentifier: String, with sdk: CountersignSDK, on screens: any IdentityScreens
) async throws -> OwnBackEnd.Session? {
    let begun = try await backEnd.begin()
    let data = try await sdk.authenticator.fetchInAppAuthenticationInitializationData(
        InAppAuthenticationRequest(
            idmIdentifier: idmIdentifier, clientID: begun.clientID, redirectURI: begun.redirectURI,
            scope: begun.scope, state: begun.state, nonce: begun.nonce, codeChallenge: begun.codeChallenge))
    guard let code = try await authenticate(data, with: sdk, on: screens) else { return nil }
    // A code of another sign-in does not count.
    guard code.state == begun.state, code.issuer == idmIdentifier else { return nil }
    return try await backEnd.finish(begun, with: code)
}

import Countersign
import Foundation

/// The app's own back end, which signs people in by their identities (`Examples/BackEnd`).
struct OwnBackEnd: Sendable {
    let address: URL
    var transport: any Transport = URLSessionTransport()

    /// A sign-in that the back end has begun.
    struct SignIn: Decodable {
        /// What names it to the back end: a secret of this app and the back end.
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
        /// What the app shows with each request from now on.
        let token: String
        let greeting: String
    }

    /// The back end refuses, and says what to do.
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
            // What is between the app and its back end answers in other words.
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
    // Another sign-in's code is nothing to this one.
    guard code.state == begun.state, code.issuer == idmIdentifier else { return nil }
    return try await backEnd.finish(begun, with: code)
}

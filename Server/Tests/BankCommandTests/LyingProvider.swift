import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

@testable import BankCommand

/// A provider that answers as the test says: rightly, or with one thing wrong.
final class LyingProvider: Sendable {
    /// What it answers, and what it was asked.
    struct State: Sendable {
        /// Members of the next documents that differ from the right ones; `nil` leaves a member out.
        var discovery: [String: String?] = [:]
        var idToken: [String: String?] = [:]
        var userinfo: [String: String?] = [:]
        var result: [String: String?] = [:]
        var resultType = "transaction-confirmation+jwt"
        /// Whether tokens are signed by a key that is not in the key set.
        var signsWithForeignKey = false
        /// The status of the token endpoint and of a dispatch.
        var tokenStatus = 200
        var dispatchStatus = 200
        var dispatchResult = "dispatched"
        /// What it would show in place of the text of the fields.
        var shownText: String?
        /// What `/status` says of the confirmation.
        var status: [String: String] = ["status": "tokenCreated"]
        var clientErrorCode: Int?
        /// How often `/status` was asked, and the first times at which it fails.
        var statusCalls = 0
        var failingStatusCalls = 0
        /// How often the connection breaks at `/status` before it is answered.
        var brokenStatusCalls = 0
        /// What the bank sent.
        var tokenForm: [String: String] = [:]
        var dispatched: [String: String] = [:]
        var authorizations: Set<String> = []
        var nonce = ""
        /// The last `traceparent` at the token endpoint, and the `traceresponse` of its answer.
        var traceparent: String?
        var traceresponse: String?
    }

    let state = Mutex(State())
    private let key = P256.Signing.PrivateKey()
    private let foreignKey = P256.Signing.PrivateKey()

    private struct DispatchBody: Decodable {
        struct Request: Decodable { let context: String }
        let dispatcher: String
        let getUafRequest: Request
    }
    private struct Context: Decodable {
        let subject: String
        let payment: [String: String]
    }

    /// The text that the provider makes of a payment's fields.
    static func text(_ payment: [String: String]) -> String {
        let reference = payment["reference"].map { "\nReference: \($0)" } ?? ""
        return
            "Payment\nAmount: \(payment["currency"] ?? "") \(payment["amount"] ?? "")\nTo: \(payment["payee"] ?? "")\n"
            + "IBAN: \(payment["iban"] ?? "")\(reference)"
    }

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("/.well-known/openid-configuration") { request, _ in
            let issuer = Self.issuer(request)
            return Self.json(
                [
                    "issuer": issuer, "authorization_endpoint": issuer + "/authorize",
                    "token_endpoint": issuer + "/token", "jwks_uri": issuer + "/jwks",
                    "userinfo_endpoint": issuer + "/userinfo", "end_session_endpoint": issuer + "/logout",
                ], self.state.withLock(\.discovery))
        }
        router.get("/jwks") { _, _ in
            let point = self.key.publicKey.rawRepresentation
            let key = [
                "kty": "EC", "crv": "P-256", "kid": "k1", "x": Base64.encodeURL(point.prefix(32)),
                "y": Base64.encodeURL(point.suffix(32)),
            ]
            return Self.json(["keys": [key]])
        }
        router.post("/token") { request, _ in
            let issuer = Self.issuer(request)
            let form = try await URLEncodedFormDecoder().decode(
                [String: String].self, from: String(buffer: request.body.collect(upTo: 4096)))
            let state = self.state.withLock { state in
                state.tokenForm = form
                state.authorizations.insert(request.headers[.authorization] ?? "")
                state.traceparent = HTTPField.Name("traceparent").flatMap { request.headers[$0] }
                return state
            }
            guard state.tokenStatus == 200 else { return Response(status: .init(code: state.tokenStatus)) }
            let now = Int(Date().timeIntervalSince1970)
            let claims: [String: Any] = [
                "iss": issuer, "sub": "s-1", "aud": "bank", "iat": now, "exp": now + 300, "nonce": state.nonce,
            ]
            var answer = Self.json(
                ["access_token": "access", "id_token": try self.signed(claims, state.idToken, type: "JWT")])
            if let name = HTTPField.Name("traceresponse"), let run = state.traceparent?.split(separator: "-"),
                run.count == 4
            {
                answer.headers[name] = state.traceresponse?.replacing("RUN", with: run[1])
            }
            return answer
        }
        router.get("/userinfo") { request, _ in
            guard request.headers[.authorization] == "Bearer access" else { return Response(status: .unauthorized) }
            return Self.json(["sub": "s-1", "name": "Ada <Lovelace>"], self.state.withLock(\.userinfo))
        }
        self.addConfirmations(to: router)
        return router
    }

    private func addConfirmations(to router: Router<BasicRequestContext>) {
        router.post("/token/dispatch/authentication") { request, _ in
            let body = try await JSONDecoder().decode(
                DispatchBody.self, from: Data(request.body.collect(upTo: 65536).readableBytesView))
            let context = try JSONDecoder().decode(Context.self, from: Data(body.getUafRequest.context.utf8))
            let state = self.state.withLock { state in
                state.dispatched = context.payment.merging(["subject": context.subject]) { $1 }
                state.authorizations.insert(request.headers[.authorization] ?? "")
                return state
            }
            guard state.dispatchStatus == 200 else { return Response(status: .init(code: state.dispatchStatus)) }
            guard state.dispatchResult == "dispatched" else {
                return Self.json(["dispatchResult": state.dispatchResult])
            }
            let text = state.shownText ?? Self.text(context.payment)
            return Self.json([
                "dispatchResult": "dispatched", "sessionId": "session/1", "link": "https://id.example/open?x=1",
                "qrCodeSvg": "<svg/>",
                "transaction": [["contentType": "text/plain", "content": Base64.encodeURL(Data(text.utf8))]],
            ])
        }
        router.post("/status") { request, _ in
            struct Gone: Error {}
            let isBroken = self.state.withLock { state in
                state.brokenStatusCalls -= 1
                return state.brokenStatusCalls >= 0
            }
            guard !isBroken else { return Response(status: .ok, body: ResponseBody { _ in throw Gone() }) }
            let isFailing = self.state.withLock { state in
                state.statusCalls += 1
                return state.statusCalls <= state.failingStatusCalls
            }
            guard !isFailing else { return Response(status: .serviceUnavailable) }
            return Self.json(try self.status(Self.issuer(request)))
        }
        router.get("/status/:session/events") { request, context in
            guard context.parameters.get("session") == "session%2F1" || context.parameters.get("session") == "session/1"
            else { return Response(status: .notFound) }
            let last = try JSONSerialization.data(withJSONObject: self.status(Self.issuer(request)))
            let text =
                "event: status\ndata: {\"status\":\"tokenCreated\"}\n\nevent: status\n"
                + "data: {\"status\":\"clientAuthenticating\"}\n\nevent: status\ndata: \(String(decoding: last, as: UTF8.self))\n\n"
            return Response(
                status: .ok, headers: [.contentType: "text/event-stream"],
                body: .init(byteBuffer: ByteBuffer(string: text)))
        }
    }

    /// `/status`, with a statement about the dispatched text where it has succeeded.
    private func status(_ issuer: String) throws -> [String: Any] {
        let state = self.state.withLock { $0 }
        var document: [String: Any] = state.status
        if let result = state.status["tokenResult"] { document["tokenInformation"] = ["tokenResult": result] }
        if let code = state.clientErrorCode { document["clientErrorCode"] = code }
        if state.status["status"] == "succeeded" {
            let text = Self.text(state.dispatched.filter { $0.key != "subject" })
            let claims: [String: Any] = [
                "iss": issuer, "sub": "s-1", "aud": "bank", "exp": Int(Date().timeIntervalSince1970) + 300,
                "session_id": "session/1", "transaction_hash": Base64.sha256URL(text),
                "transaction_content_type": "text/plain",
            ]
            document["result"] = try self.signed(claims, state.result, type: state.resultType)
        }
        return document
    }

    private func signed(_ claims: [String: Any], _ changes: [String: String?], type: String) throws -> String {
        let payload = try JSONSerialization.data(withJSONObject: Self.changed(claims, changes))
        let header = Data(#"{"alg":"ES256","kid":"k1","typ":"\#(type)"}"#.utf8)
        let signed = "\(Base64.encodeURL(header)).\(Base64.encodeURL(payload))"
        let key = self.state.withLock(\.signsWithForeignKey) ? self.foreignKey : self.key
        return try "\(signed).\(Base64.encodeURL(key.signature(for: Data(signed.utf8)).rawRepresentation))"
    }

    private static func changed(_ members: [String: Any], _ changes: [String: String?]) -> [String: Any] {
        changes.reduce(into: members) { members, change in
            // Times are numbers; everything else that is changed is text.
            members[change.key] = change.value.map { Int($0) ?? $0 as Any }
        }
    }

    private static func issuer(_ request: Request) -> String { "http://\(request.head.authority ?? "")" }

    private static func json(_ members: [String: Any], _ changes: [String: String?] = [:]) -> Response {
        let data = (try? JSONSerialization.data(withJSONObject: self.changed(members, changes))) ?? Data()
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: ByteBuffer(bytes: data)))
    }
}

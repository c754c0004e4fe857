import Countersign
import JOSE
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension IdentityBackend {
    /// The pause between two questions about a session, if the server named none.
    private static let pause = Duration.seconds(2)
    /// The shortest pause that a server can name.
    private static let shortestPause = Duration.seconds(1)
    /// The longest silence of a stream: three heartbeats of the server.
    private static let silence = Duration.seconds(45)

    /// The end of a session's event stream.
    private enum StreamEnd {
        /// The final status document.
        case final(JSONObject)
        /// The stream ended or broke before. Another stream may follow after the pause.
        case interrupted(pause: Duration)
        /// The transport, the server or a proxy between them gives no stream.
        case noStream
    }

    /// Waits for the end of a session that the service has dispatched, and returns the final status.
    ///
    /// The server tells each change on an event stream, so the end is known at once. Without a stream, because the
    /// transport or a proxy cannot stream, the back end asks again every two seconds. A session has an end: an unused
    /// token is overdue within minutes.
    ///
    ///     let status = try await backend.finalStatus(ofSession: sessionID)
    ///     guard let confirmation = status.confirmation, confirmation.subject == personOfOwnRecord,
    ///         confirmation.contentHash == hashOfOwnRecord
    ///     else { … }
    ///
    /// - Parameter sessionID: The `sessionId` of the dispatch's answer.
    /// - Returns: The final status; `unknown` for a session that the server does not have.
    /// - Throws: ``BackendError``: `serverUnreachable`, `serverMisconfigured`, `clientRefused`, `answerNotTrusted` for a
    ///   signed result that does not verify, `resultExpired` for a result that was fetched too late, `cancelled`.
    public func finalStatus(ofSession sessionID: String) async throws(BackendError) -> SessionStatus {
        // Any other text would name a different path of the server.
        guard Self.isIdentifier(sessionID) else {
            return try SessionStatus(["status": .string(SessionStatus.State.unknown.rawValue)], confirmation: nil)
        }
        var mayStream = true
        while true {
            var pause = Self.pause
            if mayStream {
                switch try await self.stream(of: sessionID) {
                case .final(let document): return try await self.status(document, of: sessionID)
                case .interrupted(let named): pause = named
                case .noStream: mayStream = false
                }
            }
            let document = try await self.askedStatus(of: sessionID)
            if try Self.isFinal(document) { return try await self.status(document, of: sessionID) }
            do { try await self.sleep(pause) } catch { throw BackendError(.cancelled, "while waiting") }
        }
    }

    /// Reads the event stream of a session until the final status document.
    private func stream(of sessionID: String) async throws(BackendError) -> StreamEnd {
        let url = try Self.safeURL(self.configuration.issuer + "/status/\(sessionID)/events")
        let request = TransportRequest(
            method: "GET", url: url, headers: [("Accept", "text/event-stream"), self.authorization], body: [],
            timeout: Self.timeout)
        let channel = EventChannel(self.transport, time: self.time, sleep: self.sleep)
        do {
            let end = try await channel.first(request, silence: Self.silence) { event in
                guard event.type.hasSameBytes(as: "status") else { return nil as JSONObject? }
                guard case .object(let document)? = try? JSON(parsing: Array(event.data.utf8)) else {
                    throw BackendError(.answerNotTrusted, "an event that is no JSON object")
                }
                return try Self.isFinal(document) ? document : nil
            }
            switch end {
            case .found(let document): return .final(document)
            case .ended(let retry): return .interrupted(pause: max(retry ?? Self.pause, Self.shortestPause))
            case .refused: return .noStream
            }
        } catch let error as BackendError {
            throw error
        } catch let error as TransportError where error.code == .cannotStream || error.code == .timedOut {
            // A proxy that collects answers is silent, and would be silent again.
            return .noStream
        } catch is CancellationError {
            throw BackendError(.cancelled, "while waiting")
        } catch {
            return .interrupted(pause: Self.pause)
        }
    }

    /// Asks for the present status document of a session.
    private func askedStatus(of sessionID: String) async throws(BackendError) -> JSONObject {
        let answer: TransportResponse
        do throws(BackendError) {
            answer = try await self.send(
                "POST", self.configuration.issuer + "/status",
                headers: [self.authorization, ("Content-Type", "application/json")],
                body: JSON.object(["sessionId": .string(sessionID)]).serialized)
        } catch {
            throw Task.isCancelled ? BackendError(.cancelled, "while asking") : error
        }
        switch answer.status {
        case 200: return try Self.object(answer)
        case 401, 403: throw BackendError(.clientRefused, "the status answers with \(answer.status)")
        case 429: throw BackendError(.serverUnreachable, "the status answers with 429")
        default: throw BackendError(.serverMisconfigured, "the status answers with \(answer.status)")
        }
    }

    /// Reads a final status document, and verifies the signed result of a transaction.
    private func status(_ document: JSONObject, of sessionID: String) async throws(BackendError) -> SessionStatus {
        let result: String?
        do throws(JSONError) { result = try document.string("result") } catch {
            throw BackendError(.answerNotTrusted, "a status: \(error)")
        }
        guard let result else { return try SessionStatus(document, confirmation: nil) }
        let status = try SessionStatus(
            document, confirmation: try await self.confirmation(result, of: sessionID))
        // Only a success has a result.
        guard status.state == .succeeded else {
            throw BackendError(.answerNotTrusted, "a result of a session without success")
        }
        return status
    }

    /// Verifies the signed result of a transaction (`transaction-confirmation+jwt`).
    private func confirmation(_ result: String, of sessionID: String) async throws(BackendError)
        -> TransactionConfirmation
    {
        let endpoints = try await self.currentEndpoints()
        do {
            let token = try UnverifiedJWS(compact: result)
            guard token.header.hasType("transaction-confirmation+jwt") else {
                throw BackendError(.answerNotTrusted, "the type of a result")
            }
            let keys = try await self.currentKeys(naming: token.header.keyID, at: endpoints.keys)
            let claims = try JWTClaims(try token.verified(by: keys, allowing: [.es256]))
            let confirmation = try TransactionConfirmation(claims, session: sessionID, signedResult: result)
            try claims.check(
                issuer: self.configuration.issuer, audience: self.configuration.clientID, at: self.time,
                skew: self.configuration.clockSkew)
            return confirmation
        } catch let error as BackendError {
            throw error
        } catch let error as JOSEError where error.code == .expired {
            throw BackendError(.resultExpired, "the result is no longer valid")
        } catch {
            throw BackendError(.answerNotTrusted, "the result: \((error as? JOSEError)?.code.description ?? "")")
        }
    }

    private static func isFinal(_ document: JSONObject) throws(BackendError) -> Bool {
        try SessionStatus(document, confirmation: nil).state.isFinal
    }

    /// Returns `true` if a text can be a session's identifier: base64url.
    private static func isIdentifier(_ text: String) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

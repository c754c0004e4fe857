import Ceremony
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The exchange of the SDK's requests about an account with the server, and of the answers: translation only.
struct AccountExchange: Sendable {
    /// The maximum number of bytes of a list. The server limits the number of rows; names in scripts with three bytes
    /// for each letter need this size.
    private static let maximumLength = 262_144
    /// The maximum number of bytes of a list of receipts: fifty, each with the signatures of several authenticators.
    private static let maximumReceiptsLength = 1_048_576

    let core: ClientCore
    let recording: Recording
    let caller: RequestCaller

    func notices(of username: Username) async throws -> [AccountNotice] {
        try await self.list("notices", of: username, path: self.core.configuration.noticesPath) { notice in
            AccountNotice(
                id: DisplayText.line(try notice.requiredString("id")),
                kind: AccountNotice.Kind(rawValue: DisplayText.line(try notice.requiredString("kind"))),
                date: try Self.date("at", of: notice), subject: DisplayText.line(try notice.requiredString("subject")))
        }
    }

    func sessions(of username: Username) async throws -> [BrowserSession] {
        try await self.list("sessions", of: username, path: self.core.configuration.sessionsPath) { session in
            let id = try session.requiredString("id")
            guard Self.isIdentifier(id) else { throw JSONError(.wrongType, "id") }
            return BrowserSession(
                id: id,
                services: try Self.objects("services", of: session).map { service in
                    BrowserSession.Service(
                        name: DisplayText.line(try service.requiredString("name")),
                        origin: DisplayText.origin(try service.requiredString("origin")))
                },
                browser: try session.string("browser").map { DisplayText.line($0) },
                address: try session.string("address").map { DisplayText.line($0) },
                authenticatedAt: try Self.date("authenticatedAt", of: session),
                usedAt: try Self.date("usedAt", of: session), expiresAt: try Self.date("expiresAt", of: session))
        }
    }

    func grants(of username: Username) async throws -> [ServiceGrant] {
        let path = self.core.configuration.grantsPath
        // An older server has no such list.
        return try await self.list("grants", of: username, path: path, mayBeMissing: true) { grant in
            let id = try grant.requiredString("id")
            guard Self.isIdentifier(id) else { throw JSONError(.wrongType, "id") }
            guard let scopes = try grant.strings("scopes") else { throw JSONError(.missing, "scopes") }
            return ServiceGrant(
                id: id, service: DisplayText.line(try grant.requiredString("service")),
                scopes: scopes.map { DisplayText.line($0) },
                session: try grant.object("session").map(Self.givingSession), since: try Self.date("since", of: grant),
                usedAt: try grant.string("usedAt") == nil ? nil : Self.date("usedAt", of: grant),
                expiresAt: try Self.date("expiresAt", of: grant))
        }
    }

    func questions(for username: Username) async throws -> [ServiceQuestion] {
        let path = self.core.configuration.questionsPath
        // An older server has no such list.
        return try await self.list("questions", of: username, path: path, mayBeMissing: true) { question in
            let id = try question.requiredString("id")
            guard Self.isIdentifier(id) else { throw JSONError(.wrongType, "id") }
            guard let payload = try? OutOfBandPayload(link: question.requiredString("link")) else {
                throw JSONError(.wrongType, "link")
            }
            return ServiceQuestion(
                id: id, service: DisplayText.line(try question.requiredString("service")),
                origin: try question.string("origin").map { DisplayText.origin($0) }, payload: payload,
                expiresAt: try Self.date("expiresAt", of: question))
        }
    }

    func receipts(of username: Username) async throws -> [TransactionReceipt] {
        // An older server has no such list.
        try await self.list(
            "receipts", of: username, path: self.core.configuration.receiptsPath, mayBeMissing: true,
            maximumLength: Self.maximumReceiptsLength, TransactionReceipt.init(copy:))
    }

    private static func givingSession(_ session: JSONObject) throws -> ServiceGrant.GivingSession {
        ServiceGrant.GivingSession(
            id: DisplayText.line(try session.requiredString("id")),
            browser: try session.string("browser").map { DisplayText.line($0) },
            address: try session.string("address").map { DisplayText.line($0) })
    }

    /// Ends every session, and everything that outlasts a session.
    func endSessions() async throws {
        let response = try await self.send("DELETE", self.core.configuration.sessionsPath).response
        guard response.status == 204 else { throw Self.refused(response.status) }
    }

    func endSession(_ id: String) async throws { try await self.end(id, under: self.core.configuration.sessionsPath) }

    func endGrant(_ id: String) async throws { try await self.end(id, under: self.core.configuration.grantsPath) }

    private func end(_ id: String, under path: String) async throws {
        // Any other text would name a different path of the server.
        guard Self.isIdentifier(id) else { throw OperationError(.sessionUnknown, "not an identifier") }
        let answer = try await self.send("DELETE", path + (path.hasSuffix("/") ? "" : "/") + id)
        switch answer.response.status {
        case 204: return
        // An earlier try has ended the session or the grant, and the answer to that try was lost.
        case 404 where answer.mayHaveArrivedBefore: return
        case 404: throw OperationError(.sessionUnknown, httpStatus: 404)
        default: throw Self.refused(answer.response.status)
        }
    }

    private func list<Element>(
        _ name: String, of username: Username, path: String, mayBeMissing: Bool = false,
        maximumLength: Int = AccountExchange.maximumLength, _ read: (JSONObject) throws -> Element
    ) async throws -> [Element] {
        let response = try await self.send("GET", path, maximumLength: maximumLength).response
        if mayBeMissing, response.status == 404 { return [] }
        guard response.status == 200 else { throw Self.refused(response.status) }
        guard response.header("Content-Type")?.mediaType.hasSameBytes(as: "application/json") ?? false else {
            throw OperationError.fido(.protocolError, recovery: .updateApp, "the answer's content type")
        }
        let limits = JSONLimits(bytes: maximumLength)
        guard case .object(let body) = try JSON(parsing: response.body, limits: limits) else {
            throw JSONError(.wrongType, "the answer is not an object")
        }
        guard try body.requiredString("username").hasSameBytes(as: username) else {
            throw OperationError.fido(.protocolError, "the server's answer is about somebody else")
        }
        return try Self.objects(name, of: body).map(read)
    }

    private func send(
        _ method: String, _ path: String, maximumLength: Int = AccountExchange.maximumLength
    ) async throws -> RepeatedAnswer {
        guard let url = self.core.configuration.address(path) else {
            throw OperationError(.unknown, recovery: .correctApp, "the configured path is not one")
        }
        let answer = try await self.core.sendRepeatedly(
            TransportRequest(
                method: method, url: url, headers: [("Accept", "application/json")], body: [],
                timeout: self.core.configuration.networkTimeout,
                maximumResponseLength: maximumLength), by: self.caller, self.recording)
        try Task.checkCancellation()
        return answer
    }

    /// Returns the error of an answer whose status is no success.
    static func refused(_ status: Int) -> OperationError {
        switch status {
        case 401: OperationError(.notAuthorized, httpStatus: status, "status 401")
        case 403: OperationError(.accountLocked, httpStatus: status, "status 403")
        case 408, 429, 500...: OperationError(.networkError, httpStatus: status, "status \(status)")
        default: .fido(.protocolError, httpStatus: status, "status \(status)")
        }
    }

    private static func objects(_ name: String, of body: JSONObject) throws -> [JSONObject] {
        guard let values = try body.array(name) else { throw JSONError(.missing, name) }
        return try values.map { value in
            guard case .object(let object) = value else { throw JSONError(.wrongType, "\(name) holds no objects") }
            return object
        }
    }

    /// Reads a moment of RFC 3339 in UTC with milliseconds.
    static func date(_ name: String, of object: JSONObject) throws -> Date {
        let text = try object.requiredString(name)
        // A year has four digits in this format. With a later year, the arithmetic behind a date would overflow.
        guard text.utf8.count == "2026-11-21T09:00:00.000Z".utf8.count,
            let date = try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        else { throw JSONError(.wrongType, "\(name) is not a moment") }
        return date
    }

    /// Returns `true` if a text can be a session's identifier: base64url.
    static func isIdentifier(_ text: String) -> Bool {
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

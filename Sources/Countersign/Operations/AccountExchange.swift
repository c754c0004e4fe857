import Ceremony
import _Primitives

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the SDK asks of the server about an account, and how it reads the answers: translation only.
struct AccountExchange: Sendable {
    /// The most bytes of a list. The server bounds its rows; names in scripts of three bytes a letter need the room.
    private static let maximumLength = 262_144

    let core: ClientCore
    let recording: Recording
    let authorization: any AuthorizationProvider

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

    func endSession(_ id: String) async throws {
        // Anything else would be another path of the server.
        guard Self.isIdentifier(id) else { throw AccountActivityError(.sessionUnknown, "not an identifier") }
        let path = self.core.configuration.sessionsPath
        let response = try await self.send("DELETE", path + (path.hasSuffix("/") ? "" : "/") + id)
        switch response.status {
        case 204: return
        case 404: throw AccountActivityError(.sessionUnknown)
        default: throw Self.refused(response.status)
        }
    }

    private func list<Element>(
        _ name: String, of username: Username, path: String, _ read: (JSONObject) throws -> Element
    ) async throws -> [Element] {
        let response = try await self.send("GET", path)
        guard response.status == 200 else { throw Self.refused(response.status) }
        let type = response.header("Content-Type")?.split(separator: ";").first ?? ""
        guard type.filter({ !$0.isWhitespace }).lowercased() == "application/json" else {
            throw AccountActivityError(.protocolError, "the answer's content type")
        }
        let limits = JSONLimits(bytes: Self.maximumLength)
        guard case .object(let body) = try JSON(parsing: response.body, limits: limits) else {
            throw JSONError(.wrongType, "the answer is not an object")
        }
        guard try body.requiredString("username") == username else {
            throw AccountActivityError(.protocolError, "the server's answer is about somebody else")
        }
        return try Self.objects(name, of: body).map(read)
    }

    private func send(_ method: String, _ path: String) async throws -> TransportResponse {
        guard let url = self.core.configuration.address(path) else {
            throw AccountActivityError(.unknown, "the configured path is not one")
        }
        let response = try await self.core.channel.send(
            TransportRequest(
                method: method, url: url, headers: [("Accept", "application/json")] + self.authorization.headers,
                body: [], timeout: .seconds(self.core.configuration.networkTimeoutInSeconds),
                maximumResponseLength: Self.maximumLength), self.recording)
        try Task.checkCancellation()
        return response
    }

    private static func refused(_ status: Int) -> AccountActivityError {
        switch status {
        case 401: AccountActivityError(.notAuthorized, "status 401")
        case 403: AccountActivityError(.accountLocked, "status 403")
        case 408, 429, 500...: AccountActivityError(.networkError, "status \(status)")
        default: AccountActivityError(.protocolError, "status \(status)")
        }
    }

    private static func objects(_ name: String, of body: JSONObject) throws -> [JSONObject] {
        guard let values = try body.array(name) else { throw JSONError(.missing, name) }
        return try values.map { value in
            guard case .object(let object) = value else { throw JSONError(.wrongType, "\(name) holds no objects") }
            return object
        }
    }

    /// A moment of RFC 3339 in UTC with milliseconds.
    private static func date(_ name: String, of object: JSONObject) throws -> Date {
        let text = try object.requiredString(name)
        // In that form a year has four digits; sums with a later one would not fit.
        guard text.utf8.count == "2026-11-21T09:00:00.000Z".utf8.count,
            let date = try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        else { throw JSONError(.wrongType, "\(name) is not a moment") }
        return date
    }

    /// Whether a text can be a session's identifier: base64url.
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

/// Why an account's activity could not be shown, or a session not be ended. Two are equal when their codes are.
public struct AccountActivityError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What the app should do.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Base: String {
            case notAuthorized, accountLocked, sessionUnknown, networkError, protocolError, insecureTransport
            case missingInteraction, operationReused, userCanceled, unknown
        }
        private let base: Base
        /// The authorization is too old or not of this server. Authenticate again, and give the new provider.
        public static let notAuthorized = Self(base: .notAuthorized)
        /// The account is locked; its browsers are signed out. Send the person to whoever runs the service.
        public static let accountLocked = Self(base: .accountLocked)
        /// The account has no such session: it has ended. Fetch the list again.
        public static let sessionUnknown = Self(base: .sessionUnknown)
        /// No answer from the server, or none that can be used. Transient: let the person try again.
        public static let networkError = Self(base: .networkError)
        /// The server's answer is not of this protocol, or about somebody else. Ask the person to update the app.
        public static let protocolError = Self(base: .protocolError)
        /// The configured address is not `https`. Nothing was sent. A mistake in the configuration.
        public static let insecureTransport = Self(base: .insecureTransport)
        /// A part of the operation was not given. A mistake in the app's code.
        public static let missingInteraction = Self(base: .missingInteraction)
        /// The operation was executed before. Make a new one. A mistake in the app's code.
        public static let operationReused = Self(base: .operationReused)
        /// The app cancelled the task. A session may have ended all the same.
        public static let userCanceled = Self(base: .userCanceled)
        /// Something else. Report it.
        public static let unknown = Self(base: .unknown)
        /// The code's name.
        public var description: String { self.base.rawValue }
    }

    /// What the app should do.
    public let code: Code
    /// For the log: never a secret.
    public let reason: String

    /// An error of that code; `reason` must hold no secret.
    public init(_ code: Code, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    /// Code and reason.
    public var description: String { "AccountActivityError.\(self.code): \(self.reason)" }
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
    public func hash(into hasher: inout Hasher) { hasher.combine(self.code) }

    init(translating error: any Error) {
        switch error {
        case let error as Self: self = error
        case is CancellationError: self.init(.userCanceled, "cancelled")
        case let error as TransportError where error.code == .insecure: self.init(.insecureTransport, error.reason)
        case let error as TransportError: self.init(.networkError, "\(error)")
        case let error as JSONError: self.init(.protocolError, "\(error)")
        default: self.init(.unknown, "\(type(of: error))")
        }
    }
}

import Crypto
public import Settings
public import _Primitives

/// The Apple Push Notification service, by its interface over HTTP/2 with a provider token.
///
/// The visible words are the app's: the message names two entries of the app's catalogue, and the phone looks the entries
/// up in the language of its person. An extension of the app can replace the words after the app has asked the server.
public struct APNs: PushProvider {
    /// The environment of the app's signature. A token of one environment is unknown in the other.
    public enum Environment: String, Sendable, CaseIterable {
        case production, development

        /// The address of the service for the environment.
        public var address: String {
            switch self {
            case .production: "https://api.push.apple.com"
            case .development: "https://api.sandbox.push.apple.com"
            }
        }
    }

    public static let name = "apple-push-notification-service"

    private let credential: APNsCredential
    private let topic: String
    private let address: String
    private let calls: any PushCalls
    private let limits: Limits.Push

    /// Makes the service.
    ///
    /// - Parameters:
    ///   - topic: The bundle identifier of the app.
    ///   - address: The address of the service, without a slash at the end (``Environment/address``).
    public init(
        _ credential: APNsCredential, topic: String, address: String, calls: any PushCalls,
        limits: Limits.Push = Limits.Push()
    ) {
        self.credential = credential
        self.topic = topic
        self.address = address
        self.calls = calls
        self.limits = limits
    }

    /// A device token is hexadecimal, of variable length.
    public func service(of target: String) -> String? {
        let isToken = target.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
        }
        return isToken && (2...Limits.Fixed.deviceTokenDigits).contains(target.utf8.count) ? self.address : nil
    }

    public func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
        let request = try self.request(content, to: target, at: now)
        return Self.answer(try await self.calls.post(request), at: now, limits: self.limits)
    }

    /// Returns the request for a message.
    public func request(_ content: PushContent, to target: String, at now: Timestamp) throws -> PushRequest {
        var message = content.members
        message["aps"] = .object([
            "alert": .object([
                "title-loc-key": .string("countersign.push.title"), "loc-key": .string("countersign.push.body"),
            ]),
            "sound": .string("default"), "mutable-content": .integer(1),
        ])
        return PushRequest(
            to: "\(self.address)/3/device/\(target.asciiLowercased)",
            [
                .init("authorization", "bearer \(try self.credential.token(at: now))"),
                .init("apns-topic", self.topic), .init("apns-push-type", "alert"), .init("apns-priority", "10"),
                // The service keeps a message for a phone without a network until then.
                .init("apns-expiration", String(content.expiresAt.seconds)),
                // A message that is sent twice is shown once.
                .init("apns-collapse-id", Base64URL.encode(Array(SHA256.hash(data: content.stored)))),
                .init("content-type", "application/json"),
            ], body: JSON.object(message).serialized)
    }

    /// Returns the meaning of an answer: its status, and the word that Apple documents as `reason`.
    public static func answer(_ response: PushResponse, at now: Timestamp, limits: Limits.Push) -> PushAnswer {
        if let shared = PushAnswer.shared(response, at: now, longestWait: limits.longestWait) { return shared }
        var object: JSONObject = [:]
        if case .object(let read)? = try? JSON(parsing: response.body) { object = read }
        if response.status == 410 {
            let moment = (try? object.integer("timestamp", as: Int64.self)).flatMap { $0 }
            return .targetEnded(unlessChangedAfter: moment.map { Timestamp(milliseconds: $0) })
        }
        let reason = (try? object.string("reason")).flatMap { $0 } ?? ""
        func known(among words: [String]) -> String? { words.first { $0.hasSameBytes(as: reason) } }
        if let word = known(among: Self.refusedTargets) { return .targetRefused(word) }
        if let word = known(among: Self.refusedSettings) { return .dispatcherStopped(word) }
        // Every other answer with 403 is about the credential, also a word of a later time.
        if response.status == 401 || response.status == 403 { return .dispatcherStopped("status \(response.status)") }
        return .messageRefused(known(among: Self.refusedMessages) ?? "status \(response.status)")
    }

    private static let refusedTargets = ["BadDeviceToken", "DeviceTokenNotForTopic"]
    private static let refusedSettings = [
        "BadCertificate", "BadCertificateEnvironment", "BadEnvironmentKeyInToken", "ExpiredProviderToken", "Forbidden",
        "InvalidProviderToken", "MissingProviderToken", "UnrelatedKeyIdInToken", "BadTopic", "MissingTopic",
        "TopicDisallowed",
    ]
    private static let refusedMessages = [
        "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPath", "BadPriority", "DuplicateHeaders",
        "IdleTimeout", "InvalidPushType", "MethodNotAllowed", "MissingDeviceToken", "PayloadEmpty", "PayloadTooLarge",
    ]
}

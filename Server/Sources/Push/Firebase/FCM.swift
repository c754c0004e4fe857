public import Settings
public import _Primitives

/// Firebase Cloud Messaging, by its interface HTTP v1: data messages of high priority, which the app alone reads.
public struct FCM: PushProvider {
    public static let name = "firebase-cloud-messaging"
    /// The usual address of the service.
    public static let usualAddress = "https://fcm.googleapis.com"

    private let account: ServiceAccount
    private let tokens: AccessTokens
    private let address: String
    private let calls: any PushCalls
    private let limits: Limits.Push

    /// Makes the service.
    ///
    /// - Parameter address: The address of the service, without a slash at the end.
    public init(
        _ account: ServiceAccount, address: String = FCM.usualAddress, calls: any PushCalls,
        limits: Limits.Push = Limits.Push()
    ) {
        self.account = account
        self.tokens = AccessTokens(account, calls: calls, limits: limits)
        self.address = address
        self.calls = calls
        self.limits = limits
    }

    /// A registration token is one word of visible ASCII.
    public func service(of target: String) -> String? {
        !target.isEmpty && target.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? self.address : nil
    }

    public func push(_ content: PushContent, to target: String, at now: Timestamp) async throws -> PushAnswer {
        switch try await self.tokens.token(at: now) {
        case .refused(let answer): return answer
        case .token(let token):
            let response = try await self.calls.post(self.request(content, to: target, accessToken: token, at: now))
            if response.status == 401 { await self.tokens.forget(token) }
            return Self.answer(response, at: now, limits: self.limits)
        }
    }

    /// Returns the request for a message.
    public func request(
        _ content: PushContent, to target: String, accessToken: String, at now: Timestamp
    ) -> PushRequest {
        let message: JSONObject = [
            "token": .string(target), "data": .object(content.members),
            "android": .object([
                "priority": .string("HIGH"), "ttl": .string("\(content.seconds(from: now))s"),
            ]),
        ]
        return PushRequest(
            to: "\(self.address)/v1/projects/\(self.account.project)/messages:send",
            [.init("authorization", "Bearer \(accessToken)"), .init("content-type", "application/json")],
            body: JSON.object(["message": .object(message)]).serialized)
    }

    /// Returns the meaning of an answer: its status, and the `errorCode` of the details.
    public static func answer(_ response: PushResponse, at now: Timestamp, limits: Limits.Push) -> PushAnswer {
        if let shared = PushAnswer.shared(response, at: now, longestWait: limits.longestWait) { return shared }
        let details = Self.details(of: response)
        func has(_ code: String) -> Bool {
            details.contains { (try? $0.string("errorCode")).flatMap { $0 }?.hasSameBytes(as: code) == true }
        }
        if has("UNREGISTERED") { return .targetEnded(unlessChangedAfter: nil) }
        if has("SENDER_ID_MISMATCH") { return .targetRefused("SENDER_ID_MISMATCH") }
        if has("INVALID_ARGUMENT") || response.status == 400 {
            // The violation of this field says that the token is wrong. Any other field is this server's own.
            let violations = details.flatMap { (try? $0.array("fieldViolations")).flatMap { $0 } ?? [] }
            let isToken = violations.contains { violation in
                guard case .object(let object) = violation else { return false }
                return (try? object.string("field")).flatMap { $0 }?.hasSameBytes(as: "message.token") == true
            }
            return isToken ? .targetRefused("INVALID_ARGUMENT") : .messageRefused("INVALID_ARGUMENT")
        }
        switch response.status {
        // 404 without UNREGISTERED: there is no such project.
        case 401, 403, 404: return .dispatcherStopped("status \(response.status)")
        default: return .messageRefused("status \(response.status)")
        }
    }

    /// Returns the details of an error (`google.rpc.Status`).
    private static func details(of response: PushResponse) -> [JSONObject] {
        guard case .object(let object)? = try? JSON(parsing: response.body),
            let error = (try? object.object("error")).flatMap({ $0 }),
            let details = (try? error.array("details")).flatMap({ $0 })
        else { return [] }
        return details.compactMap { detail in
            if case .object(let object) = detail { object } else { nil }
        }
    }
}

import Push
import Settings
import Testing
import _Primitives

@Suite("The meaning of a push service's answer: decision 116")
struct AnswerTests {
    private static let now = Timestamp(seconds: 1_900_000_000)
    private static let limits = Limits.Push()

    private func apns(_ status: Int, _ body: String = "", retryAfter: String? = nil) -> PushAnswer {
        APNs.answer(
            PushResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8)), at: Self.now,
            limits: Self.limits)
    }

    private func fcm(_ status: Int, _ details: String? = nil, retryAfter: String? = nil) -> PushAnswer {
        let body = details.map { #"{"error":{"code":\#(status),"message":"words","details":[\#($0)]}}"# } ?? "<html>"
        return FCM.answer(
            PushResponse(status: status, retryAfter: retryAfter, body: Array(body.utf8)), at: Self.now,
            limits: Self.limits)
    }

    private func webPush(_ status: Int, retryAfter: String? = nil) -> PushAnswer {
        WebPush.answer(PushResponse(status: status, retryAfter: retryAfter), at: Self.now, limits: Self.limits)
    }

    private func code(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private func violation(of field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    @Test("a success delivers")
    func success() {
        #expect(self.apns(200) == .delivered)
        #expect(self.fcm(200) == .delivered)
        for status in [200, 201, 202] { #expect(self.webPush(status) == .delivered) }
    }

    @Test("410 of Apple ends the target, unless the target was changed after the moment that Apple gives")
    func goneAtApple() {
        #expect(
            self.apns(410, #"{"reason":"Unregistered","timestamp":1899999999123}"#)
                == .targetEnded(unlessChangedAfter: Timestamp(milliseconds: 1_899_999_999_123)))
        #expect(self.apns(410, #"{"reason":"ExpiredToken"}"#) == .targetEnded(unlessChangedAfter: nil))
        #expect(self.apns(410, "no JSON") == .targetEnded(unlessChangedAfter: nil))
    }

    @Test("UNREGISTERED of Firebase, and 404 and 410 of a push service for the web, end the target")
    func gone() {
        #expect(self.fcm(404, self.code("UNREGISTERED")) == .targetEnded(unlessChangedAfter: nil))
        #expect(self.webPush(404) == .targetEnded(unlessChangedAfter: nil))
        #expect(self.webPush(410) == .targetEnded(unlessChangedAfter: nil))
    }

    @Test("404 of Firebase without UNREGISTERED is about the project, and ends no target")
    func noProject() {
        #expect(self.fcm(404) == .dispatcherStopped("status 404"))
        #expect(self.fcm(404, self.code("NOT_FOUND")) == .dispatcherStopped("status 404"))
    }

    @Test("a bad token and a foreign sender are refused targets")
    func refusedTargets() {
        #expect(self.apns(400, #"{"reason":"BadDeviceToken"}"#) == .targetRefused("BadDeviceToken"))
        #expect(self.apns(400, #"{"reason":"DeviceTokenNotForTopic"}"#) == .targetRefused("DeviceTokenNotForTopic"))
        #expect(self.fcm(403, self.code("SENDER_ID_MISMATCH")) == .targetRefused("SENDER_ID_MISMATCH"))
        #expect(
            self.fcm(400, self.code("INVALID_ARGUMENT") + "," + self.violation(of: "message.token"))
                == .targetRefused("INVALID_ARGUMENT"))
        // The subscription of one device was made with another key, or the key of this server is wrong.
        #expect(self.webPush(401) == .targetRefused("status 401"))
        #expect(self.webPush(403) == .targetRefused("status 403"))
    }

    @Test("a refused or expired credential, and a setting that the service refuses, stop the dispatcher")
    func stops() {
        for reason in [
            "ExpiredProviderToken", "InvalidProviderToken", "MissingProviderToken", "Forbidden", "BadCertificate",
            "BadCertificateEnvironment", "BadEnvironmentKeyInToken", "UnrelatedKeyIdInToken",
        ] {
            #expect(self.apns(403, #"{"reason":"\#(reason)"}"#) == .dispatcherStopped(reason))
        }
        for reason in ["BadTopic", "MissingTopic", "TopicDisallowed"] {
            #expect(self.apns(400, #"{"reason":"\#(reason)"}"#) == .dispatcherStopped(reason))
        }
        #expect(self.apns(403, #"{"reason":"AWordOfALaterTime"}"#) == .dispatcherStopped("status 403"))
        #expect(self.fcm(401, self.code("THIRD_PARTY_AUTH_ERROR")) == .dispatcherStopped("status 401"))
        #expect(self.fcm(403, "") == .dispatcherStopped("status 403"))
    }

    @Test("a message that the service refuses is dropped, and neither ends a target nor stops the dispatcher")
    func refusedMessages() {
        #expect(self.apns(413, #"{"reason":"PayloadTooLarge"}"#) == .messageRefused("PayloadTooLarge"))
        #expect(self.apns(400, #"{"reason":"BadPriority"}"#) == .messageRefused("BadPriority"))
        #expect(self.apns(400, #"{"reason":"<script>"}"#) == .messageRefused("status 400"))
        #expect(
            self.fcm(400, self.code("INVALID_ARGUMENT") + "," + self.violation(of: "message.data"))
                == .messageRefused("INVALID_ARGUMENT"))
        #expect(self.fcm(400) == .messageRefused("INVALID_ARGUMENT"))
        #expect(self.webPush(400) == .messageRefused("status 400"))
        #expect(self.webPush(413) == .messageRefused("status 413"))
        #expect(self.webPush(307) == .messageRefused("status 307"))
    }

    @Test("429 and 5xx wait as they say: seconds or a date", arguments: [429, 500, 502, 503])
    func waits(_ status: Int) {
        #expect(self.apns(status) == .wait(until: nil))
        let busy = self.fcm(status, self.code("QUOTA_EXCEEDED"), retryAfter: "17")
        #expect(busy == .wait(until: Self.now + .seconds(17)))
        #expect(self.webPush(status, retryAfter: "0") == .wait(until: Self.now))
        // 1,900,000,000 seconds after 1970 are 17:46:40 on that day.
        #expect(
            self.webPush(status, retryAfter: "Sun, 17 Mar 2030 17:47:40 GMT") == .wait(until: Self.now + .seconds(60)))
        #expect(self.webPush(status, retryAfter: "Sun, 17 Mar 2030 17:00:00 GMT") == .wait(until: Self.now))
    }

    @Test("a wait lasts a day at most, and a field that is no time counts as no field")
    func longestWait() {
        let day = Self.now + .seconds(86_400)
        for field in ["86401", "31536000", "99999999999999999999999", "Sun, 17 Mar 2075 17:46:40 GMT"] {
            #expect(self.webPush(503, retryAfter: field) == .wait(until: day), "\(field)")
        }
        for field in ["", "-5", "soon", "1.5", "+3", "١"] {
            #expect(self.webPush(503, retryAfter: field) == .wait(until: nil), "\(field)")
        }
    }
}

public import Countersign

#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension PushAddress {
    /// Returns the address of a token of the Apple Push Notification service, as the app's delegate gets the token: the
    /// dispatcher is `apple-push-notification-service`, and the address is the token in hexadecimal letters.
    public static func applePushNotificationService(deviceToken: Data) -> Self {
        let digits = Array("0123456789abcdef".utf8)
        let letters = deviceToken.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return Self(
            dispatcher: "apple-push-notification-service", address: String(decoding: letters, as: UTF8.self))
    }
}

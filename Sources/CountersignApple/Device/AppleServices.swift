public import Countersign
import UAFClient

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

/// The meaning of the numbers of Apple's App Attest (`DCErrorDomain`, `DCError.h`).
package enum AppAttestRefusal {
    /// Returns the error for a number of `DCErrorDomain`.
    ///
    /// `invalidKey` (3) means that this installation of the app does not have the key, and `serverUnavailable` (4) that
    /// a later try can succeed. `unknownSystemFailure` (0) and `invalidInput` (2) count as `unavailable`: the first can
    /// be over later, and the second also comes for a key that is being attested twice at once.
    package static func error(code: Int) -> AppAttestorError {
        switch code {
        case 1: .unsupported
        case 3: .keyGone
        default: .unavailable
        }
    }
}

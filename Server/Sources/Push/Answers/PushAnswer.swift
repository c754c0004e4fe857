import Foundation
public import _Primitives

/// The meaning of a push service's answer to one message.
///
/// The words are words of the service's documentation, or the number of the status. No text of an answer is passed on,
/// because such a text can repeat the message or the target.
public enum PushAnswer: Sendable, Equatable {
    /// The service has taken the message.
    case delivered
    /// The service delivers to the target no longer. If the device has changed its target after the moment, the answer
    /// is about a former target. `nil` if the service names no moment.
    case targetEnded(unlessChangedAfter: Timestamp?)
    /// The service does not know the target, or the target belongs to another sender. Either the target or a setting of
    /// this server is wrong (``PushStanding``).
    case targetRefused(String)
    /// The service takes the message later: not before the moment, or at the usual pace if the moment is `nil`.
    case wait(until: Timestamp?)
    /// The service refuses this server: the credential, or the application that the settings name.
    case dispatcherStopped(String)
    /// The service refuses this message, and will refuse the same message again.
    case messageRefused(String)
}

extension PushAnswer {
    /// Returns the meaning of a status that all push services share: success, too many requests and failures of the
    /// service. `nil` for every other status.
    static func shared(_ response: PushResponse, at now: Timestamp, longestWait: Duration) -> PushAnswer? {
        switch response.status {
        case 200..<300: .delivered
        case 408, 425, 429, 500..<600: .wait(until: response.retryAfter(from: now, atMost: longestWait))
        default: nil
        }
    }
}

extension PushResponse {
    /// Returns the moment of `Retry-After` (RFC 9110, section 10.2.3), at most `longest` after `now`; `nil` without the
    /// field, and for a field that is neither seconds nor a date.
    func retryAfter(from now: Timestamp, atMost longest: Duration) -> Timestamp? {
        guard let field = self.retryAfter else { return nil }
        let latest = now + longest
        if !field.isEmpty, field.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            return min(Int64(field).map { now + .seconds($0) } ?? latest, latest)
        }
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(secondsFromGMT: 0)
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        guard let date = format.date(from: field) else { return nil }
        let moment = Timestamp(seconds: Int64(date.timeIntervalSince1970))
        return min(max(moment, now), latest)
    }
}

import Foundation
import PersonalInformation
import Records
import _Primitives

/// The sender of mail, as in every message.
public struct MailSender: Sendable, Equatable {
    /// The address of the sender.
    public let address: String

    /// Creates a sender; `nil` if the text is no address.
    public init?(_ address: String) {
        guard EmailValidator().accepts(address) else { return nil }
        self.address = address
    }

    /// The part of the address after the @.
    var host: String { String(self.address.split(separator: "@").last ?? "") }
}

/// A message in the form of `sendmail -t`: RFC 5322 with lines that end in a line feed, MIME with a body in base64.
///
/// No text from outside can begin its own line. Addresses are dot-atoms, other words of a header are encoded (RFC
/// 2047), and the body is base64. No line of base64 can end the message or begin another part.
struct MailMessage: Sendable {
    let sender: MailSender
    let senderName: String
    /// The recipient: an address that ``EmailAddress`` takes.
    let recipient: String
    let subject: String
    let text: String
    let at: Timestamp
    /// A random identifier, for the name of the message.
    let identifier: String

    var bytes: [UInt8] {
        let header = [
            "From: \(Self.encoded(self.senderName)) <\(self.sender.address)>", "To: <\(self.recipient)>",
            "Subject: \(Self.encoded(self.subject))", "Date: \(Self.date(self.at))",
            "Message-ID: <\(self.identifier)@\(self.sender.host)>", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64",
            // RFC 3834: machines must not answer.
            "Auto-Submitted: auto-generated",
        ]
        let body = Data(self.text.utf8).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
        return Array((header + ["", body, ""]).joined(separator: "\n").utf8)
    }

    /// The number of bytes in an encoded word. In base64, with its frame, the word has at most 75 characters (RFC 2047,
    /// section 2).
    private static let encodedWordBytes = 42

    /// Returns words for a header: encoded words of UTF-8, each at most 75 characters long for any input. Control
    /// characters, such as line ends, become spaces.
    private static func encoded(_ words: String) -> String {
        var (parts, part) = ([String](), "")
        for scalar in words.unicodeScalars {
            let character = scalar.properties.generalCategory == .control ? " " : scalar
            if part.utf8.count + String(character).utf8.count > Self.encodedWordBytes {
                parts.append(part)
                part = ""
            }
            part.unicodeScalars.append(character)
        }
        return (parts + [part]).map { "=?utf-8?B?\(Data($0.utf8).base64EncodedString())?=" }.joined(separator: "\n ")
    }

    /// Returns a date by RFC 5322, section 3.3, in UTC.
    private static func date(_ moment: Timestamp) -> String {
        let days = moment.seconds / 86_400
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // The description has the form 2026-01-31T12:34:56.000Z.
        let text = Array(moment.description)
        let month = (Int(String(text[5..<7])) ?? 1) - 1
        return
            "\(weekday), \(String(text[8..<10])) \(months[month]) \(String(text[0..<4])) \(String(text[11..<19])) +0000"
    }
}

/// A transport that takes messages and carries them.
public protocol MailTransport: Sendable {
    /// Hands over a message, and returns the transport's remarks, in words for the log without any part of the message;
    /// empty for none. Throws ``MailFailure`` if the message is not taken. The caller then tries again.
    func send(_ message: [UInt8]) async throws(MailFailure) -> String
}

/// The reason why a message was not taken.
public struct MailFailure: Error, Sendable {
    /// The reason in words, for the log, without any part of the message.
    public let reason: String
    /// The remarks of the transport, without any part of the message; empty for none.
    public let said: String

    /// Creates a failure with a reason.
    public init(_ reason: String, said: String = "") {
        self.reason = reason
        self.said = said
    }
}

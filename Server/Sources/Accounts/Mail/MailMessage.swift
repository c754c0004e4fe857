import Foundation
import PersonalInformation
import Store
import _Primitives

/// Who sends mail, as it stands in every message.
public struct MailSender: Sendable, Equatable {
    /// The address that mail comes from.
    public let address: String

    /// A sender; `nil` where the text is no address.
    public init?(_ address: String) {
        guard EmailValidator().accepts(address) else { return nil }
        self.address = address
    }

    /// What is behind the @.
    var host: String { String(self.address.split(separator: "@").last ?? "") }
}

/// A message as `sendmail -t` takes it: RFC 5322 with lines that end in a line feed, MIME with a body in base64.
///
/// Nothing that somebody has chosen reaches a line of its own: addresses are dot-atoms, other words of a header are
/// encoded (RFC 2047), and the body is base64, in which no line can end the message or begin another part.
struct MailMessage: Sendable {
    let sender: MailSender
    let senderName: String
    /// Whom it is for: an address that ``EmailAddress`` takes.
    let recipient: String
    let subject: String
    let text: String
    let at: Timestamp
    /// Random, for the message's name.
    let identifier: String

    var bytes: [UInt8] {
        let header = [
            "From: \(Self.encoded(self.senderName)) <\(self.sender.address)>", "To: <\(self.recipient)>",
            "Subject: \(Self.encoded(self.subject))", "Date: \(Self.date(self.at))",
            "Message-ID: <\(self.identifier)@\(self.sender.host)>", "MIME-Version: 1.0",
            "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: base64",
            // RFC 3834: no machine is to answer.
            "Auto-Submitted: auto-generated",
        ]
        let body = Data(self.text.utf8).base64EncodedString(options: [.lineLength76Characters, .endLineWithLineFeed])
        return Array((header + ["", body, ""]).joined(separator: "\n").utf8)
    }

    /// Bytes that an encoded word holds, so that in base64, with what is around it, it has 75 characters at most (RFC 2047,
    /// section 2).
    private static let encodedWordBytes = 42

    /// Words of a header: encoded words of UTF-8, so many that none is longer than 75 characters, whatever the words are. A
    /// character that ends a line, or does not show, is a space.
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

    /// RFC 5322, section 3.3, in UTC.
    private static func date(_ moment: Timestamp) -> String {
        let days = moment.seconds / 86_400
        let weekday = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"][Int(days % 7)]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        // As it is written otherwise: 2026-01-31T12:34:56.000Z.
        let text = Array(moment.description)
        let month = (Int(String(text[5..<7])) ?? 1) - 1
        return
            "\(weekday), \(String(text[8..<10])) \(months[month]) \(String(text[0..<4])) \(String(text[11..<19])) +0000"
    }
}

/// Hands messages to whatever carries them.
public protocol MailTransport: Sendable {
    /// Hands a message over. Answers what was said of it, in words for the log without anything of the message; empty for
    /// nothing. Throws ``MailFailure`` where it is not taken; then it is tried again.
    func send(_ message: [UInt8]) async throws(MailFailure) -> String
}

/// Why a message was not taken.
public struct MailFailure: Error, Sendable {
    /// In words, for the log: nothing of the message.
    public let reason: String
    /// What was said by whatever should have carried the message, without anything of the message; empty for nothing.
    public let said: String

    /// A failure for this reason.
    public init(_ reason: String, said: String = "") {
        self.reason = reason
        self.said = said
    }
}

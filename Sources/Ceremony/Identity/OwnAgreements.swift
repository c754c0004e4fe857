import Foundation
import PersonalInformation
import UAF
import _Primitives

/// The text that a person signs to take an invitation into their identity. The text names the inviting party and the
/// place of the invitation.
///
/// The inviting party provides every part of the text. Each part has one line with a title, so no part can pass for
/// another part. The whole text keeps to the length that a phone accepts. A long e-mail address is cut in the middle,
/// because the end of a host says most. A long name is cut at the end.
public struct MergeAgreement: Sendable {
    /// The text, in the single spelling that is signed.
    public let text: TransactionText

    private static let headline = "Your identity takes this invitation:"

    /// Creates the agreement of an invitation from the invited e-mail address and names that people know. Throws
    /// `TransactionTextError`.
    public init(
        address: String, organisation: String?, place: (service: String, role: String)?
    ) throws(TransactionTextError) {
        var rows = [(title: "Address", value: Self.line(address, EmailValidator.longest))]
        for (title, name) in [("Organisation", organisation), ("Service", place?.service), ("Role", place?.role)] {
            if let name { rows.append((title, Self.line(name, SessionDocument.maximumNameLength))) }
        }
        let titles = Self.written(rows.map { ($0.title, "") })
        var room = TransactionText.maximumLength - titles.unicodeScalars.count
        rows[0].value = Self.shortened(rows[0].value, to: room / 2)
        room -= rows[0].value.unicodeScalars.count
        // Longer names use the room that shorter names leave free.
        let names = rows.indices.dropFirst().sorted {
            rows[$0].value.unicodeScalars.count < rows[$1].value.unicodeScalars.count
        }
        for (number, index) in names.enumerated() {
            rows[index].value = DisplayText.cut(rows[index].value, to: room / (names.count - number))
            room -= rows[index].value.unicodeScalars.count
        }
        self.text = try TransactionText(normalizing: Self.written(rows))
    }

    private static func written(_ rows: [(title: String, value: String)]) -> String {
        ([Self.headline] + rows.map { "\($0.title): \($0.value)" }).joined(separator: "\n")
    }

    /// Returns one line that can be shown, in its normal form. The normal form can be longer than the text.
    private static func line(_ text: String, _ longest: Int) -> String {
        DisplayText.line(text, maximumLength: longest).precomposedStringWithCanonicalMapping
    }

    private static func shortened(_ address: String, to length: Int) -> String {
        let scalars = address.unicodeScalars
        guard scalars.count > length else { return address }
        let half = (length - 1) / 2
        return String(scalars.prefix(half)) + "…" + String(scalars.suffix(half))
    }
}

/// The text that a person signs to replace the finger or face of their device.
public struct ReplacementAgreement: Sendable {
    /// The text, in the single spelling that is signed.
    public let text: TransactionText

    /// Creates the agreement, with the same text for every person. Throws `TransactionTextError`.
    public init() throws(TransactionTextError) {
        self.text = try TransactionText(
            normalizing: """
                The finger or face that this device has signed with so far is replaced by another. The former one signs for \
                you no more.
                """)
    }
}

import Foundation
import PersonalInformation
import UAF
import _Primitives

/// What a person signs who takes an invitation into their identity: whose invitation it is, and to what.
///
/// Everything in it comes from whoever invited. Each part is one line under a name of its own, so that none can pass for
/// another, and all of it is within the length that a phone takes: an address is cut in its middle, as its host says most at
/// its end, and a name at its end.
public struct MergeAgreement: Sendable {
    /// In the one spelling that is signed.
    public let text: TransactionText

    private static let headline = "Your identity takes this invitation:"

    /// Describes an invitation by the names that people know. Throws `TransactionTextError`.
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
        // Whatever a short name leaves is the longer ones'.
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

    /// One line that can be shown, in its normal form: that can be longer than what it is made of.
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

/// What a person signs who has the finger or face of their device replaced.
public struct ReplacementAgreement: Sendable {
    /// In the one spelling that is signed.
    public let text: TransactionText

    /// The same for everybody. Throws `TransactionTextError`.
    public init() throws(TransactionTextError) {
        self.text = try TransactionText(
            normalizing: """
                The finger or face that this device has signed with so far is replaced by another. The former one signs for \
                you no more.
                """)
    }
}

import Ceremony
import Records
import Sealing
import _Primitives

/// A change that opens a way into an account, or weakens one. The account's phone first signs a text with the name of
/// the change. So an attacker who talked a person into approving a sign-in has only the session. In an account without
/// a phone, the password or another provider confirms the change.
public enum AccountChange: Hashable, Sendable {
    /// A code for another device of a personalised identity.
    case device
    /// The end of a device after which the account has one device at most. `name` is what its person calls the device.
    case endOfDevice(id: String, name: String)
    /// Another provider for signing the person in. `name` is the provider's name at this server, `title` the name for
    /// people.
    case provider(name: String, title: String)
    /// An e-mail address. Services receive the address, and letters go to the address.
    case email(String)
    /// A phone number. Services receive the number.
    case phone(String)
    /// Another password.
    case password
    /// An authenticator app beside the password, also in place of another one.
    case secondFactor
    /// Recovery codes in place of the former ones.
    case recoveryCodes
    /// A device that was reported as lost signs the person in again. `name` is what its person calls the device.
    case returnOfDevice(id: String, name: String)
    /// "This was not me": a change that was made rests, by its identifier. `words` name the change.
    case disownment(id: String, words: String)
    /// "This was me": a change that was disowned rests no longer, by its identifier. `words` name the change.
    case reclaim(id: String, words: String)

    /// The maximum number of characters of a name in the text. The name comes from another party; the rest of the text
    /// is ours.
    static let nameLength = 32

    /// The sentence that the phone shows and signs, at most 200 characters (`TransactionText`).
    public var text: String {
        let sentence =
            switch self {
            case .device: "set up another device. Whoever has its code and its PIN is you."
            case .endOfDevice(_, let name): "end the device \(Self.quoted(name)). At most one other is left."
            case .provider(_, let title): "let \(Self.quoted(title)) sign you in from now on."
            case .email(let address): "add the e-mail address \(Self.quoted(address, keepsEnd: true))."
            case .phone(let number): "add the phone number \(Self.quoted(number))."
            case .password: "set another password."
            case .secondFactor: "set up an authenticator app for codes beside the password."
            case .recoveryCodes: "make new recovery codes. The former ones end."
            case .returnOfDevice(_, let name): "let the lost device \(Self.quoted(name)) sign you in again."
            case .disownment(_, let words): "undo \(Self.quoted(words)), and sign out everywhere."
            case .reclaim(_, let words): "let \(Self.quoted(words)) count again."
            }
        return "Change your account: \(sentence) Decline unless you asked for this in your own browser just now."
    }

    /// The change in a few words of ours, at most 32 characters. The words are for lists, letters and the text of a
    /// decision about the change.
    public var words: String {
        switch self {
        case .device: "another device"
        case .endOfDevice: "the end of a device"
        case .provider: "another provider"
        case .email: "an e-mail address"
        case .phone: "a phone number"
        case .password: "another password"
        case .secondFactor: "an authenticator app"
        case .recoveryCodes: "new recovery codes"
        case .returnOfDevice: "the return of a lost device"
        case .disownment(_, let words), .reclaim(_, let words): words
        }
    }

    /// The addition that the step of the confirmation keeps. `nil` for a decision about another change, for the return of
    /// a device, which can be reported once more, and for changes of the password, the second factor and the recovery
    /// codes. The step that sets these values keeps the change, also without a confirmation of the phone.
    var addition: AccountAddition? {
        switch self {
        case .device: .device
        case .endOfDevice: .nothing
        case .provider(let name, _): .provider(name)
        case .email(let address): .email(address)
        case .phone(let number): .phone(number)
        case .password, .secondFactor, .recoveryCodes, .returnOfDevice, .disownment, .reclaim: nil
        }
    }

    /// Returns a name in quotation marks. Quotation marks within the name are replaced. If the name is too long and
    /// `keepsEnd` is set, beginning and end remain: the host of an address shows the owner.
    private static func quoted(_ name: String, keepsEnd: Bool = false) -> String {
        let marks: Set<Unicode.Scalar> = ["\u{201C}", "\u{201D}", "\u{22}"]
        let inner = String(String.UnicodeScalarView(name.unicodeScalars.map { marks.contains($0) ? "'" : $0 }))
        let scalars = inner.unicodeScalars
        guard keepsEnd, scalars.count > Self.nameLength else {
            return "\u{201C}\(DisplayText.name(inner, length: Self.nameLength))\u{201D}"
        }
        let half = Self.nameLength / 2
        let (head, tail) = (String(scalars.prefix(half - 1)), String(scalars.suffix(half)))
        return "\u{201C}\(DisplayText.name("\(head)…\(tail)", length: Self.nameLength))\u{201D}"
    }

    /// The word of the kind, in records and in the trail.
    public var kind: String {
        switch self {
        case .device: "device"
        case .endOfDevice: "device-end"
        case .provider: "provider"
        case .email: "email"
        case .phone: "phone"
        case .password: "password"
        case .secondFactor: "second-factor"
        case .recoveryCodes: "recovery-codes"
        case .returnOfDevice: "device-return"
        case .disownment: "disownment"
        case .reclaim: "reclaim"
        }
    }
}

/// A change before its confirmation, in the form for the ceremony's record.
struct WaitingChange: Equatable {
    /// The change.
    let change: AccountChange
    /// The page on which the change is made after the confirmation: a path of this server.
    let page: String
    /// `true` if the account has no phone: its password confirms the change, or another provider if there is no
    /// password.
    let isWithoutPhone: Bool
    /// The moment before which the confirming phone or password must have existed; `nil` for any.
    let before: Timestamp?

    init(_ change: AccountChange, page: String, isWithoutPhone: Bool, before: Timestamp?) {
        self.change = change
        self.page = page
        self.isWithoutPhone = isWithoutPhone
        self.before = before
    }

    /// The JSON object for ``CeremonyDetail/change``.
    var stored: String {
        var object: JSONObject = [
            "kind": .string(self.change.kind), "page": .string(self.page), "byPassword": .bool(self.isWithoutPhone),
        ]
        object["before"] = self.before.map { .string("\($0.milliseconds)") }
        switch self.change {
        case .endOfDevice(let id, let name), .returnOfDevice(let id, let name), .disownment(let id, let name),
            .reclaim(let id, let name):
            object["id"] = .string(id)
            object["name"] = .string(name)
        case .provider(let name, let title):
            object["id"] = .string(name)
            object["name"] = .string(title)
        case .email(let value), .phone(let value): object["name"] = .string(value)
        case .device, .password, .secondFactor, .recoveryCodes: break
        }
        return String(decoding: JSON.object(object).serialized, as: UTF8.self)
    }

    /// Reads a change from its stored form. Throws `StoreError` `corrupt`.
    init(stored text: String) throws {
        guard case .object(let object)? = try? JSON(parsing: Array(text.utf8)),
            let kind = try? object.requiredString("kind"), let page = try? object.requiredString("page"),
            case .bool(let isWithoutPhone)? = object["byPassword"]
        else { throw StoreError(.corrupt, "a ceremony's change is none") }
        let (id, name) = (try? object.string("id"), try? object.string("name"))
        let before = try? object.string("before")
        let change: AccountChange? =
            switch (kind, id ?? nil, name ?? nil) {
            case ("device", nil, nil): .device
            case ("device-end", let id?, let name?): .endOfDevice(id: id, name: name)
            case ("device-return", let id?, let name?): .returnOfDevice(id: id, name: name)
            case ("provider", let name?, let title?): .provider(name: name, title: title)
            case ("email", nil, let value?): .email(value)
            case ("phone", nil, let value?): .phone(value)
            case ("password", nil, nil): .password
            case ("second-factor", nil, nil): .secondFactor
            case ("recovery-codes", nil, nil): .recoveryCodes
            case ("disownment", let id?, let words?): .disownment(id: id, words: words)
            case ("reclaim", let id?, let words?): .reclaim(id: id, words: words)
            default: nil
            }
        guard let change else { throw StoreError(.corrupt, "a ceremony's change is of no kind") }
        self.init(
            change, page: page, isWithoutPhone: isWithoutPhone,
            before: (before ?? nil).flatMap(Int64.init).map { Timestamp(milliseconds: $0) })
    }
}

extension WaitingChange {
    /// Reads the change that a browser has asked for; `nil` for every other browser, and for a sign-in.
    init?(of record: CeremonyRecord, browser: String) throws {
        guard let stored = record.detail.change,
            constantTimeEqual(Sealing.digest(ofSecret: browser), record.browserDigest ?? [])
        else { return nil }
        try self.init(stored: stored)
    }

    /// Reads the change of an account without a phone that waits for its confirmation, for the browser that has asked;
    /// `nil` if there is none.
    init?(unconfirmed record: CeremonyRecord, browser: String, accountID: String, at now: Timestamp) throws {
        try self.init(of: record, browser: browser)
        guard self.isWithoutPhone, record.accountID?.hasSameBytes(as: accountID) == true, record.phase == .created,
            now < record.expiresAt
        else { return nil }
    }
}

extension CeremonyDetail {
    /// The text of a change; `nil` for every other ceremony.
    var changeText: String? {
        guard self.change != nil, let content = self.content else { return nil }
        return String(decoding: content, as: UTF8.self)
    }
}

import Ceremony
import PersonalInformation
public import Records
import Settings
import _Primitives

extension AccountDirectory {
    /// Sets or removes the telephone number of an account. Throws `notFound`, and `invalidRequest` for an invalid
    /// number.
    public func setPhone(_ phone: AccountPhone?, username: AccountName, by operator: String) async throws
        -> AccountRecord
    {
        guard phone.map({ PhoneNumberValidator().accepts($0.number) }) ?? true else {
            throw AccountError(.invalidRequest, "a telephone number that is none: + and 7 to 15 digits, E.164")
        }
        return try await self.change(username, .accountPhoneChanged, by: `operator`) { account, event in
            account.phone = phone
            return try await self.store.setAccountPhone(phone, id: account.id, audit: event)
        }
    }

    /// Sets or removes the postal address of an account. Throws `notFound`, and `invalidRequest` for an address with a
    /// part that is too long or cannot be shown.
    public func setAddress(_ address: PostalAddress?, username: AccountName, by operator: String) async throws
        -> AccountRecord
    {
        guard address.map(Self.canBeShown) ?? true else {
            throw AccountError(.invalidRequest, "an address with a part that is too long or cannot be shown")
        }
        return try await self.change(username, .accountAddressChanged, by: `operator`) { account, event in
            account.address = address
            return try await self.store.setAccountAddress(address, id: account.id, audit: event)
        }
    }

    /// Sets or removes the profile of an account. Throws `notFound`, and `invalidRequest` for an invalid claim.
    public func setProfile(_ profile: PersonProfile?, username: AccountName, by operator: String) async throws
        -> AccountRecord
    {
        if let wrong = profile.flatMap(ProfileRules.wrongClaim) {
            throw AccountError(.invalidRequest, "a \(wrong) that is none, or is too long")
        }
        return try await self.change(username, .accountProfileChanged, by: `operator`) { account, event in
            account.profile = profile
            return try await self.store.setAccountProfile(profile, id: account.id, audit: event)
        }
    }

    private func change(
        _ username: AccountName, _ kind: AuditEvent.Kind, by operator: String,
        _ step: (inout AccountRecord, AuditEvent) async throws -> Bool
    ) async throws -> AccountRecord {
        var account = try await self.account(username: username)
        let event = AuditEvent(kind, at: self.time.now(), accountID: account.id, actor: `operator`)
        guard try await step(&account, event) else { throw AccountError(.notFound) }
        account.updatedAt = event.at
        return account
    }

    /// Returns `true` if no part of an address is too long, and every part can be shown. The whole address and the
    /// street can have several lines.
    private static func canBeShown(_ address: PostalAddress) -> Bool {
        address.parts.members.allSatisfy { name, value in
            guard case .string(let text) = value, text.unicodeScalars.count <= Limits.Fixed.addressPartCharacters else {
                return false
            }
            let hasLines = ["formatted", "street_address"].containsBytes(of: name)
            return text.unicodeScalars.allSatisfy { scalar in
                (hasLines && scalar == "\n") || !DisplayText.isForbidden(scalar)
            }
        }
    }
}

/// The rules for the claims of a profile (OpenID Connect Core 1.0, section 5.1).
private enum ProfileRules {
    /// Returns the name of the first invalid claim; `nil` if all claims are valid.
    static func wrongClaim(_ profile: PersonProfile) -> String? {
        profile.claims.members.first { name, value in
            guard case .string(let text) = value else { return true }
            switch name {
            case "picture": return !Self.isPicture(text)
            case "locale": return !Self.isLanguage(text)
            case "zoneinfo": return !Self.isTimeZone(text)
            default: return !Self.isName(text)
            }
        }?.name
    }

    private static func isName(_ text: String) -> Bool {
        text.unicodeScalars.count <= Limits.Fixed.profileNameCharacters
            && !text.unicodeScalars.contains(where: DisplayText.isForbidden)
    }

    /// Returns `true` for an https address, because a service shows the picture to the browsers of its own people.
    private static func isPicture(_ text: String) -> Bool {
        let start = "https://"
        return text.hasBytes(atStart: start) && text.utf8.count > start.utf8.count
            && text.utf8.count <= Limits.Fixed.pictureAddressCharacters
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\"<>\\^`{|}".utf8.contains($0) }
    }

    /// Returns `true` for a tag of RFC 5646: parts of letters and digits with hyphens between, or with underscores as
    /// in some tags.
    private static func isLanguage(_ text: String) -> Bool {
        let parts = text.utf8.split(omittingEmptySubsequences: false) {
            $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        return text.utf8.count <= Limits.Fixed.profileTagCharacters && (2...8).contains(parts[0].count)
            && parts[0].allSatisfy(Self.isLetter)
            && parts.dropFirst().allSatisfy { part in
                (1...8).contains(part.count) && part.allSatisfy { Self.isLetter($0) || Self.isDigit($0) }
            }
    }

    /// Returns `true` for a name of the time zone database: `Europe/Berlin`.
    private static func isTimeZone(_ text: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return text.utf8.count <= Limits.Fixed.profileTagCharacters && text.utf8.first.map(Self.isLetter) ?? false
            && parts.allSatisfy { part in
                !part.isEmpty && part.allSatisfy { Self.isLetter($0) || Self.isDigit($0) || "_+-".utf8.contains($0) }
            }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}

import Ceremony
import PersonalInformation
public import Store
import _Primitives

extension AccountDirectory {
    /// Gives an account a telephone number, or none. Throws `notFound`, `invalidRequest` for what is no number.
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

    /// Gives an account a postal address, or none. Throws `notFound`, `invalidRequest` for what cannot be shown.
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

    private func change(
        _ username: AccountName, _ kind: AuditEvent.Kind, by operator: String,
        _ step: (inout AccountRecord, AuditEvent) async throws -> Bool
    ) async throws -> AccountRecord {
        var account = try await self.account(username: username)
        let event = AuditEvent(kind, at: self.time.now(), accountID: account.id, actor: `operator`)
        guard try await step(&account, event) else { throw AccountError(.notFound) }
        return account
    }

    /// The whole address and the street can have several lines.
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

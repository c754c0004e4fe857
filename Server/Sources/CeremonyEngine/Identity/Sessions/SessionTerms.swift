import Ceremony
import Foundation
import PersonalInformation
import Store
import UAF
import _Primitives

/// What a session asks of a person: as what they can come, what is to be signed with, and which of their data go where.
struct SessionTerms: Sendable {
    /// Who asks.
    let service: SessionDocument.Service
    /// Whether the service takes anybody now.
    let isActive: Bool
    /// Whether the person is a member where that is asked for.
    let isMember: Bool
    /// Whether the person was invited where that is asked for.
    let isInvited: Bool
    /// As what the person can come, with what that asks for.
    let roles: [(role: SessionDocument.Role, factors: AuthenticatorMatrix)]
    /// What is asked for.
    let requested: RequestedInformation

    /// The role that was chosen, or the only one; `nil` where none was, or another.
    func role(_ id: String?) -> (role: SessionDocument.Role, factors: AuthenticatorMatrix)? {
        guard let id else { return self.roles.count == 1 ? self.roles[0] : nil }
        return self.roles.first { $0.role.id.hasSameBytes(as: id) }
    }

    /// What the account's owner calls a value that was asked for.
    func aliasText(_ id: String, of attribute: PersonalAttribute) -> String? {
        self.requested.attributes.first { $0.attribute == attribute }?.aliases.first { $0.id.hasSameBytes(as: id) }?
            .alias
    }
}

/// Finds out what sessions ask of people.
struct SessionTermsReader: CeremonyPart {
    let environment: CeremonyEnvironment

    /// The role in which somebody comes to their own account.
    private static let ownRole = "account"

    /// What a session asks of an account, by what is on record about both.
    func terms(of ceremony: CeremonyRecord, by record: IdentityTerms, purpose: IdentityPurpose) throws -> SessionTerms {
        let service = SessionDocument.Service(
            name: self.name(ceremony.detail.service), origin: ceremony.detail.origin ?? self.configuration.issuer)
        guard ceremony.detail.client != nil else { return try self.own(service, purpose) }
        guard let standing = record.standing else {
            return SessionTerms(
                service: service, isActive: false, isMember: true, isInvited: true, roles: [],
                requested: RequestedInformation([]))
        }
        return SessionTerms(
            service: service, isActive: standing.profile.isActive, isMember: standing.isMember,
            isInvited: standing.isInvited,
            roles: standing.roles.map { (SessionDocument.Role(id: $0.id, name: self.name($0.name)), $0.factors) },
            requested: self.requested(standing.profile, of: record))
    }

    /// What the account asks of its own person.
    private func own(_ service: SessionDocument.Service, _ purpose: IdentityPurpose) throws -> SessionTerms {
        let factors = try AuthenticatorMatrix(self.configuration.identities.accountFactors)
        return SessionTerms(
            service: service, isActive: true, isMember: true, isInvited: true,
            // Whoever changes the PIN knows the present one, whatever else would do.
            roles: [
                (
                    SessionDocument.Role(id: Self.ownRole, name: self.name(self.configuration.serviceName)),
                    purpose == .changePin ? factors.requiring(.pin) : factors
                )
            ],
            requested: RequestedInformation([]))
    }

    private func requested(_ profile: ServiceProfile, of record: IdentityTerms) -> RequestedInformation {
        RequestedInformation(
            profile.requestedAttributes.map { attribute, requirement in
                let all = record.aliases.filter { $0.attribute == attribute }
                // What was chosen when the person last came is not asked again. A service that adds an attribute has no
                // choices any more (`ServiceStore.setServiceProfile`), and the person is asked about all that it wants.
                let selected = record.selection[attribute]
                let chosen = all.filter { alias in selected.map { alias.id.hasSameBytes(as: $0) } ?? false }
                return RequestedAttribute(
                    attribute, isRequired: requirement == .required,
                    aliases: Set(
                        (chosen.isEmpty ? all : chosen).map {
                            PersonalInformationAlias(id: $0.id, alias: self.name($0.text), isPrimary: $0.isPrimary)
                        }))
            })
    }

    /// A name as it stands in documents: one line that can be shown, and no longer than they take.
    private func name(_ text: String?) -> String {
        let line = DisplayText.name(text ?? "", length: SessionDocument.maximumNameLength)
        return line.isEmpty
            ? DisplayText.name(self.configuration.serviceName, length: SessionDocument.maximumNameLength) : line
    }

    // MARK: What is typed

    /// The validators at a moment. Somewhere on earth it is the next day already.
    func rules(at now: Timestamp) -> PersonalInformationRules {
        let there = now + Limits.Fixed.earliestTimeZone
        let today = CalendarDay(Date(timeIntervalSince1970: Double(there.milliseconds) / 1000), in: .gmt)
        return PersonalInformationRules(
            birthdate: BirthdateValidator(latest: today ?? Self.firstDay, timeZone: .gmt))
    }

    /// What stands in where the clock is outside of the calendar.
    private static let firstDay: CalendarDay = {
        guard let day = CalendarDay(year: 1970, month: 1, day: 1) else {
            preconditionFailure("the calendar has this day")
        }
        return day
    }()
}

extension AuthenticatorMatrix {
    /// What an activation with these keys is asked for, in the words of messages.
    func asked(of credentials: [CredentialRecord]) -> (alternatives: [[String]], missing: [String]) {
        let request = self.request(from: credentials.factorTypes)
        return (
            request.alternatives.map { $0.map(\.rawValue) },
            AuthenticatorType.allCases.filter(request.missing.contains).map(\.rawValue)
        )
    }
}

extension IdentityRules {
    /// In what a device is not as sound as the server wants it, by names; empty where it is.
    func insufficiencies(of report: SecurityReport?) -> [String] {
        guard let report else { return self.requiresSecurityReport ? ["noReport"] : [] }
        return [(report.isRooted && !self.acceptsRooted, "rooted"), (report.isHooked && !self.acceptsHooked, "hooked")]
            .filter(\.0).map(\.1)
    }
}

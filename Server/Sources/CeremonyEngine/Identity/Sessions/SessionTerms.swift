import Ceremony
import Foundation
import PersonalInformation
import Records
import Settings
import UAF
import _Primitives

/// The terms of a session for a person: the person's roles, the factors for signing, and the requested data.
struct SessionTerms: Sendable {
    /// The service that asks.
    let service: SessionDocument.Service
    /// `true` if the service accepts sign-ins now.
    let isActive: Bool
    /// `true` if the person is a member, or membership is not required.
    let isMember: Bool
    /// `true` if the person was invited, or an invitation is not required.
    let isInvited: Bool
    /// The roles that the person has and can choose from, each with its required factors.
    let roles: [(role: SessionDocument.Role, factors: AuthenticatorMatrix)]
    /// The requested attributes.
    let requested: RequestedInformation

    /// Returns the chosen role, or the only role; `nil` without a choice among several roles, and for an unknown role.
    func role(_ id: String?) -> (role: SessionDocument.Role, factors: AuthenticatorMatrix)? {
        guard let id else { return self.roles.count == 1 ? self.roles[0] : nil }
        return self.roles.first { $0.role.id.hasSameBytes(as: id) }
    }

    /// Returns the account owner's name for a requested value.
    func aliasText(_ id: String, of attribute: PersonalAttribute) -> String? {
        self.requested.attributes.first { $0.attribute == attribute }?.aliases.first { $0.id.hasSameBytes(as: id) }?
            .alias
    }
}

/// Reads the terms of sessions for people.
struct SessionTermsReader: CeremonyPart {
    let environment: CeremonyEnvironment

    /// The role of a person at their own account.
    private static let ownRole = "account"

    /// Returns the terms of a session for an account, from the records of both.
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

    /// Returns the terms of an account for its own person.
    private func own(_ service: SessionDocument.Service, _ purpose: IdentityPurpose) throws -> SessionTerms {
        let factors = try AuthenticatorMatrix(self.configuration.identities.accountFactors)
        return SessionTerms(
            service: service, isActive: true, isMember: true, isInvited: true,
            // A change of the PIN needs the present PIN, even if other factors would suffice.
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
                // Choices from the person's last visit are not asked for again. A service that adds an attribute has no
                // choices any more (`ServiceStore.setServiceProfile`), and the person is asked about every requested
                // attribute.
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

    /// Returns a name in its form for documents: one displayable line, within the documents' maximum length.
    private func name(_ text: String?) -> String {
        let line = DisplayText.name(text ?? "", length: SessionDocument.maximumNameLength)
        return line.isEmpty
            ? DisplayText.name(self.configuration.serviceName, length: SessionDocument.maximumNameLength) : line
    }

    // MARK: What is typed

    /// Returns the validators for a moment. Dates count in the earliest time zone, because somewhere the next day has
    /// begun.
    func rules(at now: Timestamp) -> PersonalInformationRules {
        let there = now + Limits.Fixed.earliestTimeZone
        let today = CalendarDay(Date(timeIntervalSince1970: Double(there.milliseconds) / 1000), in: .gmt)
        return PersonalInformationRules(
            birthdate: BirthdateValidator(latest: today ?? Self.firstDay, timeZone: .gmt))
    }

    /// The day that is used if the clock is outside the calendar.
    private static let firstDay: CalendarDay = {
        guard let day = CalendarDay(year: 1970, month: 1, day: 1) else {
            preconditionFailure("the calendar has this day")
        }
        return day
    }()
}

extension AuthenticatorMatrix {
    /// Returns the factors to ask for from an activation with these keys, in the words of messages.
    func asked(of credentials: [CredentialRecord]) -> (alternatives: [[String]], missing: [String]) {
        let request = self.request(from: credentials.factorTypes)
        return (
            request.alternatives.map { $0.map(\.rawValue) },
            AuthenticatorType.allCases.filter(request.missing.contains).map(\.rawValue)
        )
    }
}

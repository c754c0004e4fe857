import Texts

/// A value of an attribute, without the value itself.
public struct NamedValue: Sendable {
    /// The name of the attribute, as in messages.
    public var attribute: String
    /// The person's name for the value; `nil` for a value that the person has typed.
    public var alias: String?

    /// Names a value.
    public init(attribute: String, alias: String?) {
        self.attribute = attribute
        self.alias = alias
    }

    /// Returns the name in words of a language.
    func words(in language: any Language) -> String {
        language.words(
            self.alias.map { .namedValue(attribute: self.attribute, alias: $0) }
                ?? IdentityText.typedValue(attribute: self.attribute)
        ).plain
    }
}

/// A person's devices, values, services and addresses, shown to the person alone.
public struct IdentityPage: Sendable {
    /// A device of the person.
    public struct Device: Sendable {
        /// The identifier of the device.
        public var id: String
        /// The person's name for the device.
        public var name: String
        /// The factors that the device can sign with.
        public var factors: [Factor]
        /// The time of the device's personalisation, as people read the time.
        public var since: String
        /// The time of the device's last use; `nil` if nobody has used the device yet.
        public var used: String?
        /// The end of the pause after wrong attempts, as people read the time; `nil` if the device is not locked.
        public var lockedUntil: String?
        /// `true` if the device can no longer sign anybody in.
        public var isDisabled: Bool

        /// Describes a device.
        public init(
            id: String, name: String, factors: [Factor], since: String, used: String?, lockedUntil: String?,
            isDisabled: Bool
        ) {
            self.id = id
            self.name = name
            self.factors = factors
            self.since = since
            self.used = used
            self.lockedUntil = lockedUntil
            self.isDisabled = isDisabled
        }

        /// A factor that a device can sign with.
        public enum Factor: Sendable {
            /// The device itself, its PIN, or a feature of the person.
            case device, pin, biometric
            /// Another factor, by its own name.
            case named(String)
        }
    }

    /// A code that waits for a device.
    public struct Offer: Sendable {
        /// The identifier of the code.
        public var id: String
        /// The name that the device will have.
        public var name: String?
        /// The end of the code's lifetime, as people read the time.
        public var until: String

        /// Describes a code.
        public init(id: String, name: String?, until: String) {
            self.id = id
            self.name = name
            self.until = until
        }
    }

    /// A value of an attribute.
    public struct Value: Sendable {
        /// The identifier of the value.
        public var id: String
        /// The name of the attribute, as in messages.
        public var attribute: String
        /// The person's name for the value.
        public var alias: String
        /// The value.
        public var value: String
        /// `true` if the app offers the value first.
        public var isPrimary: Bool
        /// `true` if the value was verified.
        public var isVerified: Bool
        /// `true` if services also learn whether the value was verified.
        public var needsVerification = false

        /// Describes a value.
        public init(
            id: String, attribute: String, alias: String, value: String, isPrimary: Bool, isVerified: Bool
        ) {
            self.id = id
            self.attribute = attribute
            self.alias = alias
            self.value = value
            self.isPrimary = isPrimary
            self.isVerified = isVerified
        }
    }

    /// A service in which the person has roles or for which the person has made choices.
    public struct Service: Sendable {
        /// The identifier of the service.
        public var id: String
        /// The name of the service.
        public var name: String
        /// The roles that the person can choose at the service.
        public var roles: [String]
        /// The values that the service gets.
        public var choices: [NamedValue]

        /// Describes a service.
        public init(id: String, name: String, roles: [String], choices: [NamedValue]) {
            self.id = id
            self.name = name
            self.roles = roles
            self.choices = choices
        }
    }

    /// A further address of the person, beside the first address.
    public struct Address: Sendable {
        /// The identifier of the address.
        public var id: String
        /// The address.
        public var address: String
        /// `true` if the address is known to be the person's.
        public var isVerified: Bool

        /// Describes an address.
        public init(id: String, address: String, isVerified: Bool) {
            self.id = id
            self.address = address
            self.isVerified = isVerified
        }
    }

    /// The person's name.
    public var name: String
    /// The further addresses, beside the first address.
    public var addresses: [Address] = []
    /// The sign that the form of an address stood on a page of this server; `nil` if the server sends no mail.
    public var confirmation: String?
    /// The devices, the oldest first.
    public var devices: [Device] = []
    /// The codes that wait for a device.
    public var offers: [Offer] = []
    /// The values that services can request.
    public var values: [Value] = []
    /// The services.
    public var services: [Service] = []
    /// The organisations of which the person is a member.
    public var organisations: [String] = []

    /// Creates a page of a person who has nothing yet.
    public init(name: String) { self.name = name }
}

/// The uses of an identity.
public struct IdentityHistoryPage: Sendable {
    /// The purpose of a session.
    public enum Purpose: Sendable {
        case changeOfAccount, signIn, signInOfApp, addedFactor, anotherPIN, codeForDevice, endOfIdentity, merge
        /// A purpose without words, by its own name.
        case named(String)
    }

    /// An ended session. The entry does not name the factors.
    public struct Entry: Sendable {
        /// The result of a session: `failed` also if its time was over, and `aborted` if it was given up.
        public enum Outcome: String, Sendable { case finished, failed, aborted }

        /// The purpose of the session.
        public var what: Purpose
        /// The service.
        public var service: String?
        /// The role at the service.
        public var role: String?
        /// The result of the session.
        public var outcome: Outcome
        /// The moment of the session, as RFC 3339.
        public var moment: String
        /// The moment of the session, as people read the time.
        public var shownMoment: String

        /// Describes a session.
        public init(
            what: Purpose, service: String?, role: String?, outcome: Outcome, moment: String, shownMoment: String
        ) {
            self.what = what
            self.service = service
            self.role = role
            self.outcome = outcome
            self.moment = moment
            self.shownMoment = shownMoment
        }
    }

    /// An agreement of the person in a session.
    public struct Agreement: Sendable {
        /// The purpose of the session.
        public var what: Purpose
        /// The service that asked, as the person saw the name.
        public var service: String
        /// The role at the service, as the person saw the role.
        public var role: String
        /// The values that went to the service.
        public var values: [NamedValue]
        /// A further text that the person agreed to.
        public var text: String?
        /// The moment of the agreement, as RFC 3339.
        public var moment: String
        /// The moment of the agreement, as people read the time.
        public var shownMoment: String

        /// Describes an agreement.
        public init(
            what: Purpose, service: String, role: String, values: [NamedValue], text: String?, moment: String,
            shownMoment: String
        ) {
            self.what = what
            self.service = service
            self.role = role
            self.values = values
            self.text = text
            self.moment = moment
            self.shownMoment = shownMoment
        }
    }

    /// The sessions, the newest first.
    public var entries: [Entry]
    /// The agreements of the person, the newest first.
    public var agreements: [Agreement]
    /// The number of the oldest session on this page; older sessions exist before the number. `nil` if the page ends
    /// with the oldest session.
    public var older: Int64?
    /// `true` if the page leaves newer sessions out.
    public var isContinued: Bool

    /// Creates a history.
    public init(entries: [Entry], agreements: [Agreement] = [], older: Int64? = nil, isContinued: Bool = false) {
        self.entries = entries
        self.agreements = agreements
        self.older = older
        self.isContinued = isContinued
    }
}

/// The question that a person answers before a device, or a code for a device, ends.
public struct EndActivationPage: Sendable {
    /// The identifier of the activation.
    public var id: String
    /// The name that the device has or will have; `nil` for a code without a name.
    public var name: String?
    /// `true` for a code that no device has used.
    public var isOffer: Bool
    /// `true` for a device if no other device can sign the person in.
    public var isLast: Bool
    /// The sign that the form stood on a page of this server.
    public var confirmation: String
    /// The confirmed change; `nil` without a confirmed change, and if no change has to be confirmed.
    public var change: String?

    /// Creates a question.
    public init(
        id: String, name: String?, isOffer: Bool, isLast: Bool, confirmation: String, change: String? = nil
    ) {
        self.change = change
        self.id = id
        self.name = name
        self.isOffer = isOffer
        self.isLast = isLast
        self.confirmation = confirmation
    }
}

extension PageRenderer {
    // Inner values and outer values have different names: a template looks for a missing name in the outer values.
    private struct IdentityView {
        struct Device {
            let deviceName: String
            let factors: String
            let times: Sentence
            let trouble: Sentence?
            let rename: String
            let end: String
            let endWords: Sentence
        }

        struct Offer {
            let offerName: String
            let until: Sentence
            let withdraw: String
        }

        struct Value {
            let attribute: Sentence
            let alias: String
            let value: String
            let remark: String?
            let renameValue: String
            let removeValue: String
        }

        struct Address {
            let addressID: String
            let address: String
            let addressState: Sentence
            let proof: String?
            let removeAddress: String
        }

        struct Service {
            let serviceName: String
            let roles: String
            let choices: Sentence?
            let forget: String?
        }

        let name: String
        let hasDevices: Bool
        let devices: [Device]
        let hasOffers: Bool
        let offers: [Offer]
        let hasValues: Bool
        let values: [Value]
        let hasAddresses: Bool
        let addresses: [Address]
        let addressPath = OwnAddressPage.path
        let hasServices: Bool
        let services: [Service]
        let organisations: String?
        let add = IdentityPaths.activation
        let addEmail = IdentityPaths.email
        let addPhone = IdentityPaths.phone
        let history = IdentityPaths.history
        let changes = IdentityPaths.changes
    }

    private struct HistoryView {
        struct Entry {
            let what: String
            let service: String?
            let role: String?
            let outcome: String
            let came: Sentence
            let moment: String
            let shownMoment: String
        }

        struct Agreement {
            let agreedWhat: String
            let asker: String
            let agreedRole: String
            let given: String?
            let agreedText: String?
            let agreedMoment: String
            let shownAgreedMoment: String
        }

        let hasEntries: Bool
        let entries: [Entry]
        let hasAgreements: Bool
        let agreements: [Agreement]
        let nothing: Sentence
        let older: String?
        let newest: String?
        let back = IdentityPaths.overview
    }

    private static func end(_ id: String) -> String { self.address(IdentityPaths.activationEnd, "activation", id) }

    static func address(_ path: String, _ parameter: String, _ value: String) -> String {
        "\(path)?\(parameter)=\(percentEncoded(value))"
    }

    /// Renders a person's identity.
    public func html(_ page: IdentityPage) -> RenderedPage {
        let view = IdentityView(
            name: page.name, hasDevices: !page.devices.isEmpty,
            devices: page.devices.map { device in
                let rest = device.lockedUntil.map { self.language.words(.deviceRests(until: $0)) }
                return IdentityView.Device(
                    deviceName: device.name,
                    factors: device.factors.map { $0.words(in: self.language) }.joined(separator: ", "),
                    times: self.language.words(.deviceTimes(since: device.since, used: device.used)),
                    trouble: device.isDisabled ? self.language.words(.deviceDisabled) : rest,
                    rename: Self.address(IdentityPaths.activationName, "activation", device.id),
                    end: Self.end(device.id), endWords: self.language.words(.endThisDevice))
            }, hasOffers: !page.offers.isEmpty,
            offers: page.offers.map {
                IdentityView.Offer(
                    offerName: $0.name ?? self.language.words(.aDevice).plain,
                    until: self.language.words(.until($0.until)), withdraw: Self.end($0.id))
            }, hasValues: !page.values.isEmpty,
            values: page.values.map { value in
                let remarks: [IdentityText] =
                    (value.isPrimary ? [.offeredFirst] : [])
                    + (value.isVerified ? [.knownToBeTrue] : value.needsVerification ? [.notConfirmed] : [])
                return IdentityView.Value(
                    attribute: self.language.words(.attribute(value.attribute)), alias: value.alias,
                    value: value.value,
                    remark: remarks.isEmpty
                        ? nil : remarks.map { self.language.words($0).plain }.joined(separator: ", "),
                    renameValue: Self.address(IdentityPaths.valueName, "value", value.id),
                    removeValue: Self.address(IdentityPaths.valueEnd, "value", value.id))
            }, hasAddresses: !page.addresses.isEmpty,
            addresses: page.addresses.map { address in
                IdentityView.Address(
                    addressID: address.id, address: address.address,
                    addressState: self.language.words(address.isVerified ? .addressConfirmed : .addressUnconfirmed),
                    proof: address.isVerified ? nil : page.confirmation,
                    removeAddress: Self.address(IdentityPaths.addressEnd, "address", address.id))
            }, hasServices: !page.services.isEmpty,
            services: page.services.map { service in
                IdentityView.Service(
                    serviceName: service.name,
                    roles: service.roles.isEmpty
                        ? self.language.words(.noRole).plain : service.roles.joined(separator: ", "),
                    choices: service.choices.isEmpty
                        ? nil
                        : self.language.words(.gets(service.choices.map { $0.words(in: self.language) })),
                    forget: service.choices.isEmpty
                        ? nil : Self.address(IdentityPaths.choice, "service", service.id))
            }, organisations: page.organisations.isEmpty ? nil : page.organisations.joined(separator: ", "))
        return self.render(view, template: "identity", title: self.language.words(.yourIdentity))
    }

    /// Renders a history.
    public func html(_ page: IdentityHistoryPage) -> RenderedPage {
        let view = HistoryView(
            hasEntries: !page.entries.isEmpty,
            entries: page.entries.map { entry in
                let came: IdentityText =
                    switch entry.outcome {
                    case .finished: .finished
                    case .failed: .failed
                    case .aborted: .aborted
                    }
                return HistoryView.Entry(
                    what: entry.what.words(in: self.language), service: entry.service, role: entry.role,
                    outcome: entry.outcome.rawValue, came: self.language.words(came), moment: entry.moment,
                    shownMoment: entry.shownMoment)
            }, hasAgreements: !page.agreements.isEmpty,
            agreements: page.agreements.map { agreement in
                HistoryView.Agreement(
                    agreedWhat: agreement.what.words(in: self.language), asker: agreement.service,
                    agreedRole: agreement.role,
                    given: agreement.values.isEmpty
                        ? nil : agreement.values.map { $0.words(in: self.language) }.joined(separator: ", "),
                    agreedText: agreement.text, agreedMoment: agreement.moment,
                    shownAgreedMoment: agreement.shownMoment)
            }, nothing: self.language.words(page.isContinued ? .nothingOlder : .nothingYet),
            older: page.older.map { Self.address(IdentityPaths.history, "before", "\($0)") },
            newest: page.isContinued ? IdentityPaths.history : nil)
        return self.render(view, template: "history", title: self.language.words(.history))
    }

    /// Renders the question before a device ends.
    public func html(_ page: EndActivationPage) -> RenderedPage {
        let name = page.name ?? self.language.words(.aDeviceWithin).plain
        let message = self.language.message(
            page.isOffer ? .endCode(name: name) : .endDevice(name: name, isLast: page.isLast))
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: IdentityPaths.overview, testID: "end-activation")
        view.form = MessageView.Form(
            action: IdentityPaths.activationEnd, label: message.submit,
            fields: [
                .init(name: "activation", value: page.id),
                .init(name: "confirmation", value: page.confirmation),
            ] + (page.change.map { [.init(name: ConfirmedChange.field, value: $0)] } ?? []))
        return self.render(view, template: "message", title: message.title)
    }
}

extension IdentityPage.Device.Factor {
    /// Returns the factor in words of a language.
    fileprivate func words(in language: any Language) -> String {
        switch self {
        case .device: language.words(.factorDevice).plain
        case .pin: language.words(.factorPIN).plain
        case .biometric: language.words(.factorBiometric).plain
        case .named(let name): name
        }
    }
}

extension IdentityHistoryPage.Purpose {
    /// Returns the purpose in words of a language.
    fileprivate func words(in language: any Language) -> String {
        switch self {
        case .changeOfAccount: language.words(.changeOfAccount).plain
        case .signIn: language.words(.signIn).plain
        case .signInOfApp: language.words(.signInOfApp).plain
        case .addedFactor: language.words(.addedFactor).plain
        case .anotherPIN: language.words(.anotherPIN).plain
        case .codeForDevice: language.words(.codeForDevice).plain
        case .endOfIdentity: language.words(.endOfIdentity).plain
        case .merge: language.words(.merge).plain
        case .named(let name): name
        }
    }
}

/// What a person has of personalised identities, shown to that person alone.
public struct IdentityPage: Sendable {
    /// A device that is the person's.
    public struct Device: Sendable {
        /// What it is told by.
        public var id: String
        /// What the person calls it.
        public var name: String
        /// What it can sign with, in words.
        public var factors: String
        /// Since when it is there, and when it was used, in words.
        public var times: String
        /// Until when it rests, as people read it.
        public var lockedUntil: String?
        /// Whether it can sign nobody in any more.
        public var isDisabled: Bool

        /// Describes a device.
        public init(
            id: String, name: String, factors: String, times: String, lockedUntil: String?, isDisabled: Bool
        ) {
            self.id = id
            self.name = name
            self.factors = factors
            self.times = times
            self.lockedUntil = lockedUntil
            self.isDisabled = isDisabled
        }
    }

    /// A code that waits for a device.
    public struct Offer: Sendable {
        /// What it is told by.
        public var id: String
        /// What the device is to be called.
        public var name: String?
        /// Until when it can be used, as people read it.
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
        /// What it is told by.
        public var id: String
        /// The attribute, in words.
        public var attribute: String
        /// What the person calls the value.
        public var alias: String
        /// The value.
        public var value: String
        /// Whether it is offered first.
        public var isPrimary: Bool
        /// Whether somebody has seen to it that it is true.
        public var isVerified: Bool
        /// Whether services are told that, too.
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

    /// A service that the person has to do with.
    public struct Service: Sendable {
        /// What it is told by.
        public var id: String
        /// What it is called.
        public var name: String
        /// As what the person can come.
        public var roles: [String]
        /// What it gets, by attribute and alias.
        public var choices: [String]

        /// Describes a service.
        public init(id: String, name: String, roles: [String], choices: [String]) {
            self.id = id
            self.name = name
            self.roles = roles
            self.choices = choices
        }
    }

    /// An address that the person has beside the first one.
    public struct Address: Sendable {
        /// What it is told by.
        public var id: String
        /// The address.
        public var address: String
        /// Whether it is known to be the person's.
        public var isVerified: Bool

        /// Describes an address.
        public init(id: String, address: String, isVerified: Bool) {
            self.id = id
            self.address = address
            self.isVerified = isVerified
        }
    }

    /// What the person is called.
    public var name: String
    /// Addresses beside the first one.
    public var addresses: [Address] = []
    /// What the form of an address carries as a sign that it stood on our page; `nil` where no mail is sent.
    public var confirmation: String?
    /// The devices, the oldest first.
    public var devices: [Device] = []
    /// Codes that wait.
    public var offers: [Offer] = []
    /// What services can ask for.
    public var values: [Value] = []
    /// The services.
    public var services: [Service] = []
    /// What the person is a member of.
    public var organisations: [String] = []

    /// A page of somebody who has nothing yet.
    public init(name: String) { self.name = name }
}

/// What an identity was used for.
public struct IdentityHistoryPage: Sendable {
    /// A session that has come to something. Nothing is said of factors.
    public struct Entry: Sendable {
        /// What it came to.
        public enum Outcome: String, Sendable { case finished, failed, aborted }

        /// What it was for, in words.
        public var what: String
        /// The service.
        public var service: String?
        /// The role there.
        public var role: String?
        /// What it came to.
        public var outcome: Outcome
        /// When, as RFC 3339.
        public var moment: String
        /// When, as people read it.
        public var shownMoment: String

        /// Describes a session.
        public init(
            what: String, service: String?, role: String?, outcome: Outcome, moment: String, shownMoment: String
        ) {
            self.what = what
            self.service = service
            self.role = role
            self.outcome = outcome
            self.moment = moment
            self.shownMoment = shownMoment
        }
    }

    /// What the person has agreed to in a session.
    public struct Agreement: Sendable {
        /// What it was for, in words.
        public var what: String
        /// Who has asked, as the person was shown it.
        public var service: String
        /// The role there, as the person was shown it.
        public var role: String
        /// What went to the service, a sentence's part each.
        public var values: [String]
        /// What else was agreed to.
        public var text: String?
        /// When, as RFC 3339.
        public var moment: String
        /// When, as people read it.
        public var shownMoment: String

        /// Describes an agreement.
        public init(
            what: String, service: String, role: String, values: [String], text: String?, moment: String,
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
    /// What the person has agreed to, the newest first.
    public var agreements: [Agreement]
    /// The number before which there are older sessions; `nil` where these are the oldest.
    public var older: Int64?
    /// Whether newer sessions were left out.
    public var isContinued: Bool

    /// A history.
    public init(entries: [Entry], agreements: [Agreement] = [], older: Int64? = nil, isContinued: Bool = false) {
        self.entries = entries
        self.agreements = agreements
        self.older = older
        self.isContinued = isContinued
    }
}

/// The question whether a device, or a code for one, is to end.
public struct EndActivationPage: Sendable {
    /// What it is told by.
    public var id: String
    /// What the device is called, or is to be.
    public var name: String
    /// Whether it is a code that nobody has used.
    public var isOffer: Bool
    /// Whether it is the only device that can sign the person in.
    public var isLast: Bool
    /// What the form carries as a sign that it stood on our page.
    public var confirmation: String
    /// The confirmed change; `nil` where none was confirmed, and where none has to be.
    public var change: String?

    /// A question.
    public init(
        id: String, name: String, isOffer: Bool, isLast: Bool, confirmation: String, change: String? = nil
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
    // The names of inner values are none of the outer ones: a template looks for what is missing further out.
    private struct IdentityView {
        struct Device {
            let deviceName: String
            let factors: String
            let times: String
            let trouble: String?
            let rename: String
            let end: String
            let endWords: String
        }

        struct Offer {
            let offerName: String
            let until: String
            let withdraw: String
        }

        struct Value {
            let attribute: String
            let alias: String
            let value: String
            let remark: String?
            let renameValue: String
            let removeValue: String
        }

        struct Address {
            let addressID: String
            let address: String
            let addressState: String
            let proof: String?
            let removeAddress: String
        }

        struct Service {
            let serviceName: String
            let roles: String
            let choices: String?
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
            let came: String
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
        let nothing: String
        let older: String?
        let newest: String?
        let back = IdentityPaths.overview
    }

    private static func end(_ id: String) -> String { self.address(IdentityPaths.activationEnd, "activation", id) }

    static func address(_ path: String, _ parameter: String, _ value: String) -> String {
        "\(path)?\(parameter)=\(percentEncoded(value))"
    }

    /// Renders what a person has.
    public func html(_ page: IdentityPage) -> RenderedPage {
        let view = IdentityView(
            name: page.name, hasDevices: !page.devices.isEmpty,
            devices: page.devices.map { device in
                let rest = device.lockedUntil.map { "Rests until \($0), after wrong attempts." }
                return IdentityView.Device(
                    deviceName: device.name, factors: device.factors, times: device.times,
                    trouble: device.isDisabled
                        ? "Disabled: it signs nobody in any more. Personalise the app anew, with a new code." : rest,
                    rename: Self.address(IdentityPaths.activationName, "activation", device.id),
                    end: Self.end(device.id), endWords: "End this device")
            }, hasOffers: !page.offers.isEmpty,
            offers: page.offers.map {
                IdentityView.Offer(
                    offerName: $0.name ?? "A device", until: "until \($0.until)", withdraw: Self.end($0.id))
            }, hasValues: !page.values.isEmpty,
            values: page.values.map { value in
                let remarks = [
                    value.isPrimary ? "offered first" : nil,
                    value.isVerified ? "known to be true" : value.needsVerification ? "not confirmed" : nil,
                ].compactMap(\.self)
                return IdentityView.Value(
                    attribute: value.attribute, alias: value.alias, value: value.value,
                    remark: remarks.isEmpty ? nil : remarks.joined(separator: ", "),
                    renameValue: Self.address(IdentityPaths.valueName, "value", value.id),
                    removeValue: Self.address(IdentityPaths.valueEnd, "value", value.id))
            }, hasAddresses: !page.addresses.isEmpty,
            addresses: page.addresses.map { address in
                IdentityView.Address(
                    addressID: address.id, address: address.address,
                    addressState: address.isVerified ? "confirmed" : "not confirmed: it counts for nothing yet",
                    proof: address.isVerified ? nil : page.confirmation,
                    removeAddress: Self.address(IdentityPaths.addressEnd, "address", address.id))
            }, hasServices: !page.services.isEmpty,
            services: page.services.map { service in
                IdentityView.Service(
                    serviceName: service.name,
                    roles: service.roles.isEmpty ? "no role" : service.roles.joined(separator: ", "),
                    choices: service.choices.isEmpty ? nil : "Gets \(service.choices.joined(separator: ", "))",
                    forget: service.choices.isEmpty
                        ? nil : Self.address(IdentityPaths.choice, "service", service.id))
            }, organisations: page.organisations.isEmpty ? nil : page.organisations.joined(separator: ", "))
        return self.render(view, template: "identity", title: "Your identity")
    }

    /// Renders a history.
    public func html(_ page: IdentityHistoryPage) -> RenderedPage {
        let view = HistoryView(
            hasEntries: !page.entries.isEmpty,
            entries: page.entries.map { entry in
                let came =
                    switch entry.outcome {
                    case .finished: "Done"
                    case .failed: "Failed, or its time was over"
                    case .aborted: "Given up"
                    }
                return HistoryView.Entry(
                    what: entry.what, service: entry.service, role: entry.role, outcome: entry.outcome.rawValue,
                    came: came, moment: entry.moment, shownMoment: entry.shownMoment)
            }, hasAgreements: !page.agreements.isEmpty,
            agreements: page.agreements.map { agreement in
                HistoryView.Agreement(
                    agreedWhat: agreement.what, asker: agreement.service, agreedRole: agreement.role,
                    given: agreement.values.isEmpty ? nil : agreement.values.joined(separator: ", "),
                    agreedText: agreement.text, agreedMoment: agreement.moment,
                    shownAgreedMoment: agreement.shownMoment)
            }, nothing: page.isContinued ? "Nothing older." : "Nothing yet.",
            older: page.older.map { Self.address(IdentityPaths.history, "before", "\($0)") },
            newest: page.isContinued ? IdentityPaths.history : nil)
        return self.render(view, template: "history", title: "What your identity was used for")
    }

    /// Renders the question whether a device ends.
    public func html(_ page: EndActivationPage) -> RenderedPage {
        let explanation =
            page.isOffer
            ? "The code for \(page.name) works no more then."
            : "\(page.name) signs you in nowhere any more then, and what it has signed in to ends."
                + (page.isLast ? " It is the last device that you have: only an operator can give you another." : "")
        let view = MessageView(
            emblem: PageAssets.keyEmblem, headline: page.isOffer ? "Take this code back?" : "End this device?",
            explanation: explanation, link: MessageView.Link(label: "No", target: IdentityPaths.overview),
            form: MessageView.Form(
                action: IdentityPaths.activationEnd, label: page.isOffer ? "Take it back" : "End it",
                fields: [
                    .init(name: "activation", value: page.id),
                    .init(name: "confirmation", value: page.confirmation),
                ] + (page.change.map { [.init(name: ConfirmedChange.field, value: $0)] } ?? [])),
            testID: "end-activation")
        return self.render(view, template: "message", title: view.headline)
    }
}

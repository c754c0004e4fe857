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

private struct IdentityView: PageView {
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
    let receipts = IdentityPaths.receipts
    let history = IdentityPaths.history
    let changes = IdentityPaths.changes

    static let template = "identity"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="identity">
        <h1 id="title">\(words(.yourIdentity))</h1>
        <p class="lead">\(words(.signedInAs(username: "<bdi data-testid=\"name\">{{name}}</bdi>"))) \
        \(words(.nobodyElseSees))</p>
        <h2>\(words(.yourDevices))</h2>
        {{#hasDevices}}<ul class="things">
        {{#devices}}
        <li data-testid="activation">
        <p><strong><bdi>{{deviceName}}</bdi></strong> <span class="small">{{factors}}</span></p>
        <p class="small">{{times}}</p>
        {{#trouble}}<p class="notice bad" data-testid="trouble">{{.}}</p>{{/trouble}}
        <p><a href="{{rename}}" data-testid="rename">\(words(.rename))</a> · <a href="{{end}}" data-testid="end">{{endWords}}</a></p>
        </li>
        {{/devices}}
        </ul>{{/hasDevices}}
        {{^hasDevices}}<p class="small" data-testid="no-activations">\(words(.noDevice))</p>{{/hasDevices}}
        {{#hasOffers}}<h2>\(words(.waitingCodes))</h2>
        <ul class="things">
        {{#offers}}
        <li data-testid="offer"><p><bdi>{{offerName}}</bdi> <span class="small">{{until}}</span></p>
        <p><a href="{{withdraw}}" data-testid="withdraw">\(words(.takeBack))</a></p></li>
        {{/offers}}
        </ul>{{/hasOffers}}
        <p class="actions"><a class="button" href="{{add}}" data-testid="add">\(words(.anotherDevice))</a></p>
        <h2>\(words(.values))</h2>
        {{#hasValues}}<dl class="facts">
        {{#values}}
        <div data-testid="value"><dt>{{attribute}}: <bdi>{{alias}}</bdi></dt><dd><bdi>{{value}}</bdi></dd>\
        {{#remark}}<dd class="small">{{.}}</dd>{{/remark}}\
        <dd class="small"><a href="{{renameValue}}" data-testid="rename-value">\(words(.rename))</a> · \
        <a href="{{removeValue}}" data-testid="remove-value">\(words(.remove))</a></dd></div>
        {{/values}}
        </dl>{{/hasValues}}
        {{^hasValues}}<p class="small">\(words(.noValue))</p>{{/hasValues}}
        <p class="other"><a href="{{addEmail}}" data-testid="add-email">\(words(.addEmail))</a> · \
        <a href="{{addPhone}}" data-testid="add-phone">\(words(.addPhone))</a></p>
        {{#hasAddresses}}<h2>\(words(.furtherAddresses))</h2>
        <ul class="things">
        {{#addresses}}
        <li data-testid="address"><p><bdi>{{address}}</bdi> <span class="small" data-testid="address-state">\
        {{addressState}}</span></p>
        {{#proof}}<form method="post" action="{{addressPath}}"><input type="hidden" name="confirmation" value="{{.}}">\
        <input type="hidden" name="address" value="{{addressID}}">\
        <button type="submit" class="quiet" data-testid="confirm-address">\(words(.mailLink))</button></form>\
        {{/proof}}
        <p><a href="{{removeAddress}}" data-testid="remove-address">\(words(.remove))</a></p>
        </li>
        {{/addresses}}
        </ul>{{/hasAddresses}}
        <h2>\(words(.yourServices))</h2>
        {{#hasServices}}<dl class="facts">
        {{#services}}
        <div data-testid="service"><dt><bdi>{{serviceName}}</bdi></dt><dd data-testid="roles"><bdi>{{roles}}</bdi></dd>\
        {{#choices}}<dd class="small" data-testid="choices"><bdi>{{.}}</bdi></dd>{{/choices}}\
        {{#forget}}<dd class="small"><a href="{{.}}" data-testid="forget">\(words(.askAgain))</a></dd>{{/forget}}</div>
        {{/services}}
        </dl>{{/hasServices}}
        {{^hasServices}}<p class="small">\(words(.noService))</p>{{/hasServices}}
        {{#organisations}}<h2>\(words(.yourOrganisations))</h2>
        <p data-testid="organisations"><bdi>{{.}}</bdi></p>{{/organisations}}
        <p class="other"><a href="{{receipts}}" data-testid="receipts">\(words(.receipts))</a></p>
        <p class="other"><a href="{{history}}" data-testid="history">\(words(.history))</a></p>
        <p class="other"><a href="{{changes}}" data-testid="changes">\(words(.changes))</a></p>
        <p class="other"><a href="\(SignOutQuestionPage.path)" data-testid="sign-out">\(words(.signOut))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension IdentityPage: Page {
    private static func end(_ id: String) -> String {
        IdentityPaths.address(IdentityPaths.activationEnd, "activation", id)
    }

    /// Renders a person's identity.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let view = IdentityView(
            name: self.name, hasDevices: !self.devices.isEmpty,
            devices: self.devices.map { device in
                let rest = device.lockedUntil.map { renderer.language.words(.deviceRests(until: $0)) }
                return IdentityView.Device(
                    deviceName: device.name,
                    factors: device.factors.map { $0.words(in: renderer.language) }.joined(separator: ", "),
                    times: renderer.language.words(.deviceTimes(since: device.since, used: device.used)),
                    trouble: device.isDisabled ? renderer.language.words(.deviceDisabled) : rest,
                    rename: IdentityPaths.address(IdentityPaths.activationName, "activation", device.id),
                    end: Self.end(device.id), endWords: renderer.language.words(.endThisDevice))
            }, hasOffers: !self.offers.isEmpty,
            offers: self.offers.map {
                IdentityView.Offer(
                    offerName: $0.name ?? renderer.language.words(.aDevice).plain,
                    until: renderer.language.words(.until($0.until)), withdraw: Self.end($0.id))
            }, hasValues: !self.values.isEmpty,
            values: self.values.map { value in
                let remarks: [IdentityText] =
                    (value.isPrimary ? [.offeredFirst] : [])
                    + (value.isVerified ? [.knownToBeTrue] : value.needsVerification ? [.notConfirmed] : [])
                return IdentityView.Value(
                    attribute: renderer.language.words(.attribute(value.attribute)), alias: value.alias,
                    value: value.value,
                    remark: remarks.isEmpty
                        ? nil : remarks.map { renderer.language.words($0).plain }.joined(separator: ", "),
                    renameValue: IdentityPaths.address(IdentityPaths.valueName, "value", value.id),
                    removeValue: IdentityPaths.address(IdentityPaths.valueEnd, "value", value.id))
            }, hasAddresses: !self.addresses.isEmpty,
            addresses: self.addresses.map { address in
                IdentityView.Address(
                    addressID: address.id, address: address.address,
                    addressState: renderer.language.words(address.isVerified ? .addressConfirmed : .addressUnconfirmed),
                    proof: address.isVerified ? nil : self.confirmation,
                    removeAddress: IdentityPaths.address(IdentityPaths.addressEnd, "address", address.id))
            }, hasServices: !self.services.isEmpty,
            services: self.services.map { service in
                IdentityView.Service(
                    serviceName: service.name,
                    roles: service.roles.isEmpty
                        ? renderer.language.words(.noRole).plain : service.roles.joined(separator: ", "),
                    choices: service.choices.isEmpty
                        ? nil
                        : renderer.language.words(.gets(service.choices.map { $0.words(in: renderer.language) })),
                    forget: service.choices.isEmpty
                        ? nil : IdentityPaths.address(IdentityPaths.choice, "service", service.id))
            }, organisations: self.organisations.isEmpty ? nil : self.organisations.joined(separator: ", "))
        return renderer.render(view, title: renderer.language.words(.yourIdentity))
    }
}

extension EndActivationPage: Page {
    /// Renders the question before a device ends.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let name = self.name ?? renderer.language.words(.aDeviceWithin).plain
        let message = renderer.language.message(
            self.isOffer ? .endCode(name: name) : .endDevice(name: name, isLast: self.isLast))
        var view = MessageView(
            message, emblem: PageAssets.keyEmblem, target: IdentityPaths.overview, testID: "end-activation")
        view.form = MessageView.Form(
            action: IdentityPaths.activationEnd, label: message.submit,
            fields: [
                .init(name: "activation", value: self.id),
                .init(name: "confirmation", value: self.confirmation),
            ] + (self.change.map { [.init(name: ConfirmedChange.field, value: $0)] } ?? []))
        return renderer.render(view, title: message.title)
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

import Texts

/// The devices of an account, and the links by which a person reports a device as lost or takes the device back.
public struct OwnDevicesPage: Sendable {
    /// A device.
    public struct Device: Sendable {
        /// The identifier of the device.
        public var id: String
        /// The name of the device.
        public var name: String
        /// The moment of the registration, as people read it.
        public var since: String
        /// The moment of the report that the device is lost, as people read it; `nil` for a device in use.
        public var restedSince: String?

        /// Describes a device.
        public init(id: String, name: String, since: String, restedSince: String?) {
            self.id = id
            self.name = name
            self.since = since
            self.restedSince = restedSince
        }
    }

    /// The devices, the oldest first.
    public var devices: [Device]

    /// Creates a list.
    public init(devices: [Device]) { self.devices = devices }
}

/// The list as the template reads the list.
private struct OwnDevicesView: PageView {
    struct Device {
        let deviceID: String
        let name: String
        let state: Sentence
        let target: String
        let ask: Sentence
    }

    let devices: [Device]
    let hasNone: Bool
    let back = IdentityPaths.overview

    static let template = "own-devices"

    static func markup(_ words: TemplateWords) -> String {
        """
        {{<frame}}{{$main}}
        <section class="card account" aria-labelledby="title" data-testid="own-devices">
        <h1 id="title">\(words(.ownDevices))</h1>
        <p class="lead">\(words(.ownDevicesLead))</p>
        <ul class="things">
        {{#devices}}
        <li data-testid="device" data-id="{{deviceID}}">
        <p><strong><bdi>{{name}}</bdi></strong></p>
        <p class="small">{{state}}</p>
        <p><a href="{{target}}" data-testid="ask">{{ask}}</a></p>
        </li>
        {{/devices}}
        </ul>
        {{#hasNone}}<p class="small" data-testid="no-devices">\(words(.noDevices))</p>{{/hasNone}}
        <p class="other"><a href="{{back}}" data-testid="back">\(words(.backToIdentity))</a></p>
        </section>
        {{/main}}{{/frame}}
        """
    }
}

extension OwnDevicesPage: Page {
    /// Renders the devices.
    public func html(by renderer: PageRenderer) -> RenderedPage {
        let language = renderer.language
        let devices = self.devices.map { device in
            let path = device.restedSince == nil ? IdentityPaths.deviceLost : IdentityPaths.deviceReturn
            return OwnDevicesView.Device(
                deviceID: device.id, name: device.name,
                state: language.words(
                    device.restedSince.map { .reportedLost(since: $0) } ?? .inUse(since: device.since)),
                target: IdentityPaths.address(path, "device", device.id),
                ask: language.words(device.restedSince == nil ? ChangeText.reportLost : .haveItAgain))
        }
        return renderer.render(
            OwnDevicesView(devices: devices, hasNone: devices.isEmpty), title: language.words(.ownDevices))
    }
}

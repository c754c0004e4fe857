/// The way in which a token travels to the phone that redeems the token: one value for phone and server (decision 11).
///
/// A server names the channel in ``ReturnUAFRequest/dispatchChannel``. A back end names a dispatcher, and each
/// dispatcher of a server has a channel (decision 110). The channel is a property of the token from the token's
/// creation: the redeemed token tells a phone how the token was meant to arrive.
public enum DispatchChannel: String, Hashable, Sendable, CaseIterable {
    /// A QR code with a link. A phone's own camera opens the link, and anybody can send the link on.
    case linkQRCode = "link-png-qr-code"
    /// A link, for the device that shows the link.
    case link
    /// A code that the person types.
    case typed
    /// A QR code with the payload alone. Only the app's own scanner reads the payload.
    case qrCode = "png-qr-code"
    /// An answer or a message to one device that the server knows. The server gives a device the tokens of sessions that
    /// the device itself begins. Only dispatchers that a program adds to the server send messages.
    case device

    /// The channel's name on the wire.
    public var name: String { self.rawValue }

    /// `true` if a link carries the token: anybody can send the link on, and the receiver only has to tap.
    ///
    /// A phone takes from a link only the tokens of these channels. An approval over one of these channels opens
    /// nothing in a browser that waits, unless that browser has the continuation.
    public var canBeSentOn: Bool {
        switch self {
        case .linkQRCode, .link: true
        case .typed, .qrCode, .device: false
        }
    }

    /// `true` if the phone can be another device than the device that shows the token or waits for the answer.
    public var crossesDevices: Bool {
        switch self {
        case .linkQRCode, .typed, .qrCode, .device: true
        case .link: false
        }
    }

    /// `true` if the sender names the receiving device. The tokens of the other channels stand on a page, for the phone
    /// that comes first.
    public var needsTarget: Bool {
        switch self {
        case .device: true
        case .linkQRCode, .link, .typed, .qrCode: false
        }
    }
}

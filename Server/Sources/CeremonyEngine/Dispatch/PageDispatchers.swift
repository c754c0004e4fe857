import Ceremony
public import UAF

/// Puts the token into a link, for the device that shows the page of the back end.
public struct LinkDispatcher: Dispatcher {
    public let name = "link"
    public let channel = DispatchChannel.link

    /// Creates the dispatcher.
    public init() {}

    public func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation(link: operation.link)
    }
}

/// Puts the token into a QR code with a link: the camera of any phone opens the link.
public struct LinkQRCodeDispatcher: Dispatcher {
    public let name = "link-png-qr-code"
    public let channel = DispatchChannel.linkQRCode

    /// Creates the dispatcher.
    public init() {}

    public func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation(link: operation.link, qrContent: operation.link)
    }
}

/// Puts the token into a QR code without a link: only the scanner of an app reads the code (decision 11).
public struct QRCodeDispatcher: Dispatcher {
    public let name = "png-qr-code"
    public let channel = DispatchChannel.qrCode

    /// Creates the dispatcher.
    public init() {}

    public func dispatcherInformation(for operation: DispatchedOperation) -> DispatcherInformation {
        DispatcherInformation(qrContent: operation.payload.base64URLEncoded)
    }
}

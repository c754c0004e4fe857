#if canImport(UIKit)
    import Foundation
    import SwiftUI
    import UIKit

    extension Image {
        /// Creates the view of a picture; `nil` if the system does not open the picture.
        init?(pictureOf data: Data) {
            guard let picture = UIImage(data: data) else { return nil }
            self.init(uiImage: picture)
        }
    }
#elseif canImport(AppKit)
    import AppKit
    import Foundation
    import SwiftUI

    extension Image {
        /// Creates the view of a picture; `nil` if the system does not open the picture.
        init?(pictureOf data: Data) {
            guard let picture = NSImage(data: data) else { return nil }
            self.init(nsImage: picture)
        }
    }
#endif
